// Products of bytes: four small whole numbers of a weight's row times four of a token, added up to 32 bits.
//
// Processors have an instruction for this and languages do not, so here each has its own few lines. Where none is
// known, plain vector arithmetic does the same. The sums are exact, so all of them agree to the last bit.

#pragma once

#include "lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
constexpr int64_t kRegister = 64;
#elif defined(__AVX2__)
constexpr int64_t kRegister = 32;
#else
constexpr int64_t kRegister = 16;
#endif

// As many as a register of these instructions holds, which may be less than a Lane.
typedef float Floats __attribute__((vector_size(kRegister)));
typedef int32_t Ints __attribute__((vector_size(kRegister)));
typedef uint32_t Quads __attribute__((vector_size(kRegister)));  // four bytes in each place
typedef uint16_t Shorts __attribute__((vector_size(kRegister / 2)));

constexpr int64_t kRows = kRegister / 4;

template <class To>
INLINE To read(const void* p) {
  To x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
INLINE Floats read_bf16(const void* p) { return (Floats)(__builtin_convertvector(read<Shorts>(p), Quads) << 16); }
INLINE Quads repeat_quad(const int8_t* p) { return Quads{} + read<uint32_t>(p); }

// The weights' bytes: levels 0 ... 15 of four bits, or -127 ... 127.
enum Kind { kLevels, kSigned };

// The sum, in each of kRows places, of quads of weights times quads of a token's numbers (-127 ... 127). At most kRun
// quads go in; `whole` gives the sum of products of (weight + kOffset).
template <Kind>
struct Sum;

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) || defined(__AVX2__) && defined(__AVXVNNI__)

INLINE Ints add_products(Ints total, Quads unsigned_bytes, Quads signed_bytes) {
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
  return (Ints)_mm512_dpbusd_epi32((__m512i)total, (__m512i)unsigned_bytes, (__m512i)signed_bytes);
#else
  return (Ints)_mm256_dpbusd_avx_epi32((__m256i)total, (__m256i)unsigned_bytes, (__m256i)signed_bytes);
#endif
}

template <>
struct Sum<kLevels> {
  static constexpr int64_t kRun = INT64_MAX;
  static constexpr int32_t kOffset = 0;
  Ints total = {};
  INLINE void add(Quads weights, Quads x) { total = add_products(total, weights, x); }
  INLINE Ints whole() const { return total; }
};

template <>
struct Sum<kSigned> {
  static constexpr int64_t kRun = INT64_MAX;
  static constexpr int32_t kOffset = 128;  // the instruction wants one side unsigned
  Ints total = {};
  INLINE void add(Quads weights, Quads x) { total = add_products(total, weights ^ 0x80808080u, x); }
  INLINE Ints whole() const { return total; }
};

#elif defined(__AVX2__)

INLINE Ints add_pairs(__m256i sixteen_bits) { return (Ints)_mm256_madd_epi16(sixteen_bits, _mm256_set1_epi16(1)); }

template <>
struct Sum<kLevels> {
  static constexpr int64_t kRun = 8;  // 8 quads times 2 products of at most 15 * 127 stay within 16 bits
  static constexpr int32_t kOffset = 0;
  __m256i pairs = {};
  INLINE void add(Quads weights, Quads x) {
    pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16((__m256i)weights, (__m256i)x));
  }
  INLINE Ints whole() const { return add_pairs(pairs); }
};

template <>
struct Sum<kSigned> {
  static constexpr int64_t kRun = INT64_MAX;
  static constexpr int32_t kOffset = 0;
  Ints total = {};
  INLINE void add(Quads weights, Quads x) {
    // One side unsigned: the weight gives its sign to the number it meets. 2 * 127 * 127 stays within 16 bits.
    const __m256i w = (__m256i)weights;
    total += add_pairs(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8((__m256i)x, w)));
  }
  INLINE Ints whole() const { return total; }
};

#else

template <Kind>
struct Sum {
  static constexpr int64_t kRun = INT64_MAX;
  static constexpr int32_t kOffset = 0;
  Ints total = {};
  INLINE void add(Quads weights, Quads x) {
#if defined(__ARM_FEATURE_DOTPROD)
    total = (Ints)vdotq_s32((int32x4_t)total, (int8x16_t)weights, (int8x16_t)x);
#else
    UNROLL for (int i = 0; i < 32; i += 8) total += ((Ints)(weights << i) >> 24) * ((Ints)(x << i) >> 24);
#endif
  }
  INLINE Ints whole() const { return total; }
};

#endif
