// The small steps before a product: what becomes of one token's numbers.

#pragma once

#include "lanes.h"

// RMS norm of n numbers with plain weight `scale`.
INLINE void norm_row(const float* x, const float* scale, float eps, int64_t n, float* to) {
  const float factor = norm_factor(x, n, eps);
  each_lane(n, [&](int64_t i, int64_t count) {
    store(to + i, load(x + i, count) * factor * load(scale + i, count), count);
  });
}

// Silu of the first n numbers times the n after them.
INLINE void swiglu_row(const float* gate_up, int64_t n, float* to) {
  each_lane(n, [&](int64_t i, int64_t count) {
    store(to + i, silu(load(gate_up + i, count)) * load(gate_up + n + i, count), count);
  });
}
