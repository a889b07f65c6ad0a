// Tokens in whole numbers: the largest of every group of columns becomes 127 (LLM.int8, arXiv 2208.07339, by groups).

#include "quantized.h"

namespace {

constexpr uint32_t kInfinite = 0x7f800000;
constexpr float kNothing = 1e-30f;  // 127 over less than this would leave the range of a float

inline uint32_t bits_of(float x) { return read<uint32_t>(&x); }

// The bits of the largest of n numbers, signs aside: they grow as the number does, and a NaN's are above all others.
inline uint32_t largest_bits(const float* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t j = 0; j < n; ++j) largest = std::max(largest, bits_of(x[j]) & 0x7fffffff);
  return largest;
}

// The numbers over the scale, to the nearest: adding 1.5 * 2^23 leaves no room for a fraction.
inline int32_t quantize(const float* x, int64_t n, float inverse, int8_t* to) {
  int32_t sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int32_t number = static_cast<int32_t>(bits_of(x[j] * inverse + 12582912.0f) - 0x4b400000u);
    to[j] = static_cast<int8_t>(number);
    sum += number;
  }
  return sum;
}

}  // namespace

Tokens tokens_in(Scratch& kept, int64_t tokens, const Packed& w) {
  const int64_t groups = tokens * w.groups();
  float* room = kept.of(2 * groups + groups * w.filled() / 4);
  return {reinterpret_cast<int8_t*>(room + 2 * groups), room, reinterpret_cast<int32_t*>(room + groups)};
}

void quantize_token(const float* x, int64_t t, const Tokens& tokens, const Packed& w) {
  const int64_t groups = w.groups(), filled = w.filled();
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = g * w.group, n = std::min(w.group, w.in - first);
    int8_t* to = tokens.numbers + (t * groups + g) * filled;
    const uint32_t bits = largest_bits(x + first, n);
    const float largest = read<float>(&bits);
    float& scale = tokens.scales[t * groups + g];
    int32_t& sum = tokens.sums[t * groups + g];
    if (bits >= kInfinite || largest < kNothing) {
      // What is not finite must come out as NaN, and is no number to round.
      scale = bits >= kInfinite ? __builtin_nanf("") : 0.0f;
      sum = 0;
      std::fill(to, to + filled, 0);
    } else {
      scale = largest / 127.0f;
      sum = quantize(x + first, n, 127.0f / largest, to);
      std::fill(to + n, to + filled, 0);
    }
  }
}
