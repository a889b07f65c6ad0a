// Sixteen numbers at a time, and what is done with them: many dot products at once, exp, transposing.
//
// The vector types are the compiler's own (GCC and Clang), so the same source becomes AVX-512, AVX2 or NEON.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

typedef float Lane __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
typedef int32_t Whole __attribute__((vector_size(64)));
typedef uint16_t Half __attribute__((vector_size(32)));

constexpr int64_t kLane = 16;

// The loops over a handful of vectors must become straight code, or the vectors would live in memory instead of
// registers.
#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Whole){__VA_ARGS__})
#endif

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

// Call f(i, count) for every sixteen of n numbers; the last may be fewer.
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

// Half of adding up two vectors: the first halves of their parts plus the second halves, side by side. After four
// rounds, from parts of 16 down to parts of 2, sixteen vectors have become the vector of their sums.
template <int Round>
INLINE Lane fold(Lane a, Lane b) {
  if constexpr (Round == 0) {
    return SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           SHUFFLE(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  } else if constexpr (Round == 1) {
    return SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  } else if constexpr (Round == 2) {
    return SHUFFLE(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
           SHUFFLE(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
  } else {
    return SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
           SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
}

// The sums of N vectors, N a power of two up to 16, in the first N places.
template <int N, int Round = 0>
INLINE Lane sums(const Lane* x) {
  if constexpr (Round == 4) {
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

// Dot products take 32 numbers a step. Of a pair of bf16 in one 32-bit word, a shift makes the first a float and a
// mask the second, which is less work than widening them in order; so against bf16 the other factor is kept with the
// even ones of every 32 first, then the odd ones (`arrange`). What is left beyond the last whole step keeps its
// order.
constexpr int64_t kStep = 2 * kLane;

INLINE void load_step(const float* p, Lane& first, Lane& second) { first = load(p), second = load(p + kLane); }
INLINE void load_step(const bf16* p, Lane& first, Lane& second) {
  Bits pairs;
  std::memcpy(&pairs, p, sizeof pairs);
  first = (Lane)(pairs << 16);
  second = (Lane)(pairs & 0xffff0000u);
}

// Put n numbers into the order in which they meet weights of type W; in place or not.
template <class W>
INLINE void arrange(const float* from, float* to, int64_t n) {
  const int64_t whole = sizeof(W) == sizeof(float) ? 0 : n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
    const Lane a = load(from + i), b = load(from + i + kLane);
    store(to + i, SHUFFLE(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30));
    store(to + i + kLane, SHUFFLE(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31));
  }
  if (from != to) std::copy(from + whole, from + n, to + whole);
}

// Item r * C + c is rows[r] . cols[c]; the columns as `arrange<W>` leaves them. R * C is a power of two up to 16.
template <int R, int C, class W>
INLINE Lane dots(const W* const (&rows)[R], const float* const (&cols)[C], int64_t n) {
  Lane total[R * C];
  UNROLL for (int i = 0; i < R * C; ++i) total[i] = Lane{};
  const int64_t whole = n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
    Lane first[R], second[R];
    UNROLL for (int r = 0; r < R; ++r) load_step(rows[r] + i, first[r], second[r]);
    UNROLL for (int c = 0; c < C; ++c) {
      const Lane x = load(cols[c] + i), y = load(cols[c] + i + kLane);
      UNROLL for (int r = 0; r < R; ++r) total[r * C + c] += first[r] * x;
      UNROLL for (int r = 0; r < R; ++r) total[r * C + c] += second[r] * y;
    }
  }
  Lane out = sums<R * C>(total);
  if (whole < n) {
    for (int i = 0; i < R * C; ++i) {
      for (int64_t j = whole; j < n; ++j) out[i] += wide(rows[i / C][j]) * cols[i % C][j];
    }
  }
  return out;
}

// Rows become columns: four times, interleave the first half of the rows with the second.
INLINE void transpose(Lane (&x)[kLane]) {
  UNROLL for (int round = 0; round < 4; ++round) {
    Lane y[kLane];
    UNROLL for (int i = 0; i < 8; ++i) {
      y[2 * i] = SHUFFLE(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      y[2 * i + 1] = SHUFFLE(x[i], x[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    UNROLL for (int i = 0; i < kLane; ++i) x[i] = y[i];
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
