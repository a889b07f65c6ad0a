// Products with a weight matrix [out, in], row by row in memory as the checkpoint has it, stored as float or bf16.

#pragma once

#include <cstdint>

#include "lanes.h"

struct Shape {
  int64_t tokens, in, out;
};

// Tokens from which on it pays to transpose pieces of the weight first.
constexpr int64_t kMany = kRegisters >= 32 ? 32 : 4;

// out [tokens, out] = x weight^T, or += with `add`. For fewer than kMany tokens, x [tokens, in] is as `arrange<W>`
// leaves it.
template <class W>
void few_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& shape);

// The same for many tokens; x in its natural order.
template <class W>
void many_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& shape);
