// Products with a weight matrix [out, in], row by row in memory as the checkpoint has it, stored as float or bf16.

#pragma once

#include <cstdint>

#include "lanes.h"

struct Shape {
  int64_t tokens, in, out;
};

// Tokens from which on it pays to transpose pieces of the weight first.
constexpr int64_t kMany = kRegisters >= 32 ? 32 : 4;

// Ask memory for the next n weights while others are used. Short rows end before the processor's own foresight begins;
// of long ones the first 16 KiB are enough.
template <class W>
INLINE void fetch_ahead(const W* from, int64_t n) {
  const char* at = reinterpret_cast<const char*>(from);
  const int64_t bytes = std::min<int64_t>(n * sizeof(W), 16 << 10);
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
}

// out [tokens, out] = x weight^T, or += with `add`. For fewer than kMany tokens, x [tokens, in] is as `arrange<W>`
// leaves it.
template <class W>
void few_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& shape);

// The same for many tokens; x in its natural order.
template <class W>
void many_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& shape);
