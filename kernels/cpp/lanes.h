// As many numbers at a time as a register holds, and what is done with them: many dot products at once, exp,
// transposing.
//
// The vector types are the compiler's own (GCC and Clang), so the same source becomes AVX-512, AVX2 or NEON. Their size
// must be the processor's: GCC keeps vectors that are too wide for it in memory, and computes tens of times slower.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kRegisters = 16;
#elif defined(__aarch64__)
constexpr int kVectorBytes = 16, kRegisters = 32;
#else
constexpr int kVectorBytes = 16, kRegisters = 16;
#endif

typedef float Lane __attribute__((vector_size(kVectorBytes)));
typedef uint32_t Bits __attribute__((vector_size(kVectorBytes)));
typedef int32_t Whole __attribute__((vector_size(kVectorBytes)));
typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2)));

constexpr int64_t kLane = kVectorBytes / 4;  // numbers in a vector: 4, 8 or 16

// The loops over a handful of vectors must become straight code, or the vectors would live in memory instead of
// registers.
#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

// Hold a vector in a register: left alone, the compiler reads it from memory again for every use.
#if defined(__x86_64__)
#define HOLD(x) asm("" : "+x"(x))
#elif defined(__aarch64__)
#define HOLD(x) asm("" : "+w"(x))
#else
#define HOLD(x)
#endif

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Whole){__VA_ARGS__})
#endif

// The vector of the numbers At::of(0), At::of(1), ... of a and b, counted through both.
template <class At, int... I>
INLINE Lane pick(Lane a, Lane b, std::integer_sequence<int, I...>) {
  return SHUFFLE(a, b, At::of(I)...);
}
template <class At>
INLINE Lane pick(Lane a, Lane b) {
  return pick<At>(a, b, std::make_integer_sequence<int, kLane>{});
}
// Halves of all parts of so many numbers: the first ones (Second = 0) or the others. Of parts of 2, the even or odd
// numbers.
template <int Part, int Second>
struct Halves {
  static constexpr int of(int i) { return i / (Part / 2) * Part + i % (Part / 2) + Second * (Part / 2); }
};
// By turns `Width` numbers of a and of b, inside every `Part`: from the first half of it, or from the second.
template <int Part, int Width, int Second>
struct Turns {
  static constexpr int of(int i) {
    return i / Part * Part + i % Part / (2 * Width) * Width + i % Width + i / Width % 2 * kLane + Second * (Part / 2);
  }
};

struct bf16 {
  uint16_t bits;
};

INLINE Lane load(const float* p) {
  Lane x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
INLINE Lane load(const bf16* p) {
  Half h;
  std::memcpy(&h, p, sizeof h);
  return (Lane)(__builtin_convertvector(h, Bits) << 16);
}
INLINE void store(float* p, Lane x) { std::memcpy(p, &x, sizeof x); }

INLINE float wide(float x) { return x; }
INLINE float wide(bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}
INLINE void narrow(float x, float* to) { *to = x; }
// To nearest, ties to even; a NaN stays one.
INLINE void narrow(float x, bf16* to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  to->bits = static_cast<uint16_t>(x != x ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Call f(i, count) for every vector of n numbers; the last may be fewer.
template <class F>
INLINE void each_lane(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLane <= n; i += kLane) f(i, kLane);
  if (i < n) f(i, n - i);
}
template <class T>
INLINE Lane load(const T* p, int64_t count) {
  if (count == kLane) return load(p);
  float x[kLane] = {};
  for (int64_t j = 0; j < count; ++j) x[j] = wide(p[j]);
  return load(x);
}
INLINE void store(float* p, Lane x, int64_t count) { std::memcpy(p, &x, count * sizeof(float)); }

// Half of adding up two vectors: the halves of their parts added to each other and laid side by side. The first two
// rounds stay inside every four numbers, where moving them is cheap. After the last one, kLane vectors have become the
// vector of their sums.
constexpr int kRounds = kLane == 16 ? 4 : kLane == 8 ? 3 : 2;

template <int Round>
INLINE Lane fold(Lane a, Lane b) {
  if constexpr (Round < 2) {
    return pick<Turns<4, Round + 1, 0>>(a, b) + pick<Turns<4, Round + 1, 1>>(a, b);
  } else {
    constexpr int part = static_cast<int>(kLane) >> (Round - 2);
    return pick<Halves<part, 0>>(a, b) + pick<Halves<part, 1>>(a, b);
  }
}

// The sums of N vectors, N a power of two up to kLane, in the first N places.
template <int N, int Round = 0>
INLINE Lane sums(const Lane* x) {
  if constexpr (Round == kRounds) {
    return x[0];
  } else if constexpr (N == 1) {
    const Lane y = fold<Round>(x[0], x[0]);
    return sums<1, Round + 1>(&y);
  } else {
    Lane y[N / 2];
    UNROLL for (int i = 0; i < N / 2; ++i) y[i] = fold<Round>(x[2 * i], x[2 * i + 1]);
    return sums<N / 2, Round + 1>(y);
  }
}
// The sums of any number of vectors.
template <int N>
INLINE void store_sums(float* to, const Lane* x) {
  constexpr int64_t most = N >= 16 ? 16 : N >= 8 ? 8 : N >= 4 ? 4 : N >= 2 ? 2 : 1, n = most < kLane ? most : kLane;
  store(to, sums<n>(x), n);
  if constexpr (N > n) store_sums<N - n>(to + n, x + n);
}

// Dot products take two vectors of numbers a step. Of a pair of bf16 in one 32-bit word, a shift makes the first a
// float and a mask the second, which is less work than widening them in order; so against bf16 the other factor is kept
// with the even ones of every step first, then the odd ones (`arrange`). What is left beyond the last whole step keeps
// its order.
constexpr int64_t kStep = 2 * kLane;

INLINE Lane load_half(const float* p, int half) { return load(p + half * kLane); }
INLINE Lane load_half(const bf16* p, int half) {
  Bits pairs;
  std::memcpy(&pairs, p, sizeof pairs);
  return (Lane)(half == 0 ? pairs << 16 : pairs & 0xffff0000u);
}

// Put n numbers into the order in which they meet weights of type W; in place or not.
template <class W>
INLINE void arrange(const float* from, float* to, int64_t n) {
  const int64_t whole = sizeof(W) == sizeof(float) ? 0 : n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
    const Lane a = load(from + i), b = load(from + i + kLane);
    store(to + i, pick<Halves<2, 0>>(a, b));
    store(to + i + kLane, pick<Halves<2, 1>>(a, b));
  }
  if (from != to) std::copy(from + whole, from + n, to + whole);
}

// To item r * C + c of `total`, add the products of rows[r] and cols[c] in whole steps, number by number; the columns
// as `arrange<W>` leaves them. What is used most often is loaded once a step, for registers are few.
template <int R, int C, class W>
INLINE void multiply(const W* const (&rows)[R], const float* const (&cols)[C], int64_t whole, Lane (&total)[R * C]) {
  for (int64_t i = 0; i < whole; i += kStep) {
    if constexpr (R > C) {
      Lane x[C], y[C];
      UNROLL for (int c = 0; c < C; ++c) x[c] = load(cols[c] + i), y[c] = load(cols[c] + i + kLane);
      UNROLL for (int r = 0; r < R; ++r) {
        const Lane first = load_half(rows[r] + i, 0), second = load_half(rows[r] + i, 1);
        UNROLL for (int c = 0; c < C; ++c) total[r * C + c] += first * x[c];
        UNROLL for (int c = 0; c < C; ++c) total[r * C + c] += second * y[c];
      }
    } else {
      UNROLL for (int half = 0; half < 2; ++half) {
        Lane row[R];
        UNROLL for (int r = 0; r < R; ++r) {
          row[r] = load_half(rows[r] + i, half);
          HOLD(row[r]);
        }
        UNROLL for (int c = 0; c < C; ++c) {
          Lane x = load(cols[c] + i + half * kLane);
          HOLD(x);
          UNROLL for (int r = 0; r < R; ++r) total[r * C + c] += row[r] * x;
        }
      }
    }
  }
}

// Item r * C + c is rows[r] . cols[c].
template <int R, int C, class W>
INLINE void store_dots(float* to, const W* const (&rows)[R], const float* const (&cols)[C], int64_t n) {
  Lane total[R * C];
  UNROLL for (int i = 0; i < R * C; ++i) total[i] = Lane{};
  const int64_t whole = n / kStep * kStep;
  multiply<R, C, W>(rows, cols, whole, total);
  store_sums<R * C>(to, total);
  for (int i = 0; i < R * C; ++i) {
    for (int64_t j = whole; j < n; ++j) to[i] += wide(rows[i / C][j]) * cols[i % C][j];
  }
}
// The same as a vector; R * C is a power of two up to kLane.
template <int R, int C, class W>
INLINE Lane dots(const W* const (&rows)[R], const float* const (&cols)[C], int64_t n) {
  Lane total[R * C];
  UNROLL for (int i = 0; i < R * C; ++i) total[i] = Lane{};
  const int64_t whole = n / kStep * kStep;
  multiply<R, C, W>(rows, cols, whole, total);
  Lane out = sums<R * C>(total);
  if (whole < n) {
    for (int i = 0; i < R * C; ++i) {
      for (int64_t j = whole; j < n; ++j) out[i] += wide(rows[i / C][j]) * cols[i % C][j];
    }
  }
  return out;
}

// Rows become columns: first within every four rows and four numbers, then the fours change places.
INLINE void transpose(Lane (&x)[kLane]) {
  constexpr int fours = static_cast<int>(kLane) / 4;
  Lane y[4][fours];
  UNROLL for (int g = 0; g < fours; ++g) {
    const Lane* four = x + 4 * g;
    const Lane a = pick<Turns<4, 1, 0>>(four[0], four[1]), b = pick<Turns<4, 1, 1>>(four[0], four[1]);
    const Lane c = pick<Turns<4, 1, 0>>(four[2], four[3]), d = pick<Turns<4, 1, 1>>(four[2], four[3]);
    y[0][g] = pick<Turns<4, 2, 0>>(a, c), y[1][g] = pick<Turns<4, 2, 1>>(a, c);
    y[2][g] = pick<Turns<4, 2, 0>>(b, d), y[3][g] = pick<Turns<4, 2, 1>>(b, d);
  }
  UNROLL for (int j = 0; j < 4; ++j) {
    if constexpr (fours == 1) {
      x[j] = y[j][0];
    } else if constexpr (fours == 2) {
      x[j] = pick<Turns<8, 4, 0>>(y[j][0], y[j][1]), x[4 + j] = pick<Turns<8, 4, 1>>(y[j][0], y[j][1]);
    } else {
      UNROLL for (int second = 0; second < 2; ++second) {
        const Lane a = second ? pick<Halves<16, 1>>(y[j][0], y[j][2]) : pick<Halves<16, 0>>(y[j][0], y[j][2]);
        const Lane b = second ? pick<Halves<16, 1>>(y[j][1], y[j][3]) : pick<Halves<16, 0>>(y[j][1], y[j][3]);
        x[8 * second + j] = pick<Turns<8, 4, 0>>(a, b), x[8 * second + 4 + j] = pick<Turns<8, 4, 1>>(a, b);
      }
    }
  }
}

// exp to a few units in the last place: 2^(whole part) times a polynomial for the rest (Cephes' coefficients). Below
// -87 it is 0, above 88 it stays at exp(88), and a NaN goes through.
INLINE Lane exp(Lane x) {
  const Lane lowest = Lane{} - 87.0f, highest = Lane{} + 88.0f;
  Lane limited = x < lowest ? lowest : x;
  limited = limited > highest ? highest : limited;
  const Lane half = limited < 0.0f ? Lane{} - 0.5f : Lane{} + 0.5f;
  const Whole power = __builtin_convertvector(limited * 1.44269504f + half, Whole);
  const Lane whole = __builtin_convertvector(power, Lane);
  const Lane rest = (limited - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Lane p = rest * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = (p * rest) * rest + rest + 1.0f;
  const Lane y = p * (Lane)((power + 127) << 23);
  return x < lowest ? Lane{} : (x == x ? y : x);
}

INLINE Lane sigmoid(Lane x) { return 1.0f / (1.0f + exp(-x)); }
INLINE Lane silu(Lane x) { return x * sigmoid(x); }
INLINE float sigmoid(float x) { return sigmoid(Lane{} + x)[0]; }

// 1 / root mean square of n numbers.
INLINE float norm_factor(const float* x, int64_t n, float eps) {
  const float squares = dots<1, 1, float>({x}, {x}, n)[0];
  return 1.0f / __builtin_sqrtf(squares / static_cast<float>(n) + eps);
}
