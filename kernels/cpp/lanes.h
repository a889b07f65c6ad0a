// Sixteen numbers at a time, and the two things that are done with them: many dot products, and exp.
//
// The vector types are the compiler's own (GCC and Clang), so the same source becomes AVX-512, AVX2 or NEON.

#pragma once

#include <cstdint>
#include <cstring>

typedef float Lane __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
typedef uint16_t Half __attribute__((vector_size(32)));
typedef float Eight __attribute__((vector_size(32)));
typedef float Four __attribute__((vector_size(16)));

struct bf16 {
  uint16_t bits;
};

inline Lane load(const float* p) {
  Lane x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline Lane load(const bf16* p) {
  Half h;
  std::memcpy(&h, p, sizeof h);
  return (Lane)(__builtin_convertvector(h, Bits) << 16);
}
inline void store(float* p, Lane x) { std::memcpy(p, &x, sizeof x); }

inline float wide(float x) { return x; }
inline float wide(bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}
inline void narrow(float x, float* to) { *to = x; }
// To nearest, ties to even; a NaN stays one.
inline void narrow(float x, bf16* to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  to->bits = static_cast<uint16_t>(x != x ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float sum(Lane x) {
  Eight e, f;
  std::memcpy(&e, &x, sizeof e);
  std::memcpy(&f, reinterpret_cast<const char*>(&x) + sizeof e, sizeof f);
  e += f;
  Four a, b;
  std::memcpy(&a, &e, sizeof a);
  std::memcpy(&b, reinterpret_cast<const char*>(&e) + sizeof a, sizeof b);
  a += b;
  return (a[0] + a[2]) + (a[1] + a[3]);
}

// Dot products take 32 numbers a step. Of a pair of bf16 in one 32-bit word, a shift makes the first a float and a mask the
// second, which is half the work of widening them in order; so against bf16 the other factor is stored with the even ones of
// every 32 first, then the odd ones. What is left beyond the last whole step keeps its order.
constexpr int64_t kStep = 32;

inline void load_step(const float* p, Lane& first, Lane& second) { first = load(p), second = load(p + 16); }
inline void load_step(const bf16* p, Lane& first, Lane& second) {
  Bits pairs;
  std::memcpy(&pairs, p, sizeof pairs);
  first = (Lane)(pairs << 16);
  second = (Lane)(pairs & 0xffff0000u);
}

// Where item i of n stands when it is to meet numbers of type W.
template <class W>
inline int64_t place(int64_t i, int64_t n) {
  if (sizeof(W) == sizeof(float) || i >= n / kStep * kStep) return i;
  return i / kStep * kStep + (i % 2) * 16 + i % kStep / 2;
}

// out[r][c] = rows[r] . cols[c]; the columns in the order of `place<W>`.
template <int R, int C, class W>
inline void dots(const W* const (&rows)[R], const float* const (&cols)[C], int64_t n, float (&out)[R][C]) {
  Lane total[R][C] = {};
  const int64_t whole = n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
    Lane first[R], second[R];
    for (int r = 0; r < R; ++r) load_step(rows[r] + i, first[r], second[r]);
    for (int c = 0; c < C; ++c) {
      const Lane x = load(cols[c] + i), y = load(cols[c] + i + 16);
      for (int r = 0; r < R; ++r) {
        total[r][c] += first[r] * x;
        total[r][c] += second[r] * y;
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) {
      out[r][c] = sum(total[r][c]);
      for (int64_t j = whole; j < n; ++j) out[r][c] += wide(rows[r][j]) * cols[c][j];
    }
  }
}

// exp to a few units in the last place: 2^(whole part) times a polynomial for the rest (Cephes' coefficients). Written without
// branches, so that a loop over it is vectorized; below -87 it is 0 and above 88 it stays at exp(88).
inline float fast_exp(float x) {
  const float limited = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float whole = static_cast<float>(static_cast<int32_t>(limited * 1.44269504f + (limited < 0 ? -0.5f : 0.5f)));
  const float rest = (limited - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * rest + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = p * rest * rest + rest + 1.0f;
  const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(whole) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  const float y = p * scale;
  return x < -87.0f ? 0.0f : (x == x ? y : x);
}

inline float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }
inline float silu(float x) { return x * sigmoid(x); }
