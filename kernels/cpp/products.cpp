// Products with a weight matrix for a few tokens, each with the small step before it: norm or SwiGLU.
//
// One token's product reads every weight once and does two operations with it, so it runs at the speed of memory if the
// threads share the rows evenly and widening bf16 costs little. Activations stay float32.

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.h"
#include "pool.h"

namespace {

constexpr int64_t kRows = 4;          // rows of the weight at a time
constexpr int64_t kGrain = 16 << 10;  // weights that are worth handing to another thread

struct Shape {
  int64_t tokens, in, out;
};

// The activations in the order that `dots` wants beside weights of type W. Kept between calls: allocation would show.
std::vector<float>& scratch(int64_t n) {
  static thread_local std::vector<float> kept;
  if (static_cast<int64_t>(kept.size()) < n) kept.resize(n);
  return kept;
}

template <int C, class W>
void few_rows(const W* weight, const float* x, float* out, bool add, int64_t row, const Shape& s) {
  const W* rows[kRows];
  const float* cols[C];
  for (int r = 0; r < kRows; ++r) rows[r] = weight + std::min(row + r, s.out - 1) * s.in;
  for (int c = 0; c < C; ++c) cols[c] = x + c * s.in;
  float y[kRows][C];
  dots<kRows, C>(rows, cols, s.in, y);
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < kRows && row + r < s.out; ++r) {
      float& to = out[c * s.out + row + r];
      to = add ? to + y[r][c] : y[r][c];
    }
  }
}

// out [tokens, out] (+)= x [tokens, in] weight^T. Tokens go four at a time, so that a widened weight is used four times.
template <class W>
void product(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& s) {
  const int64_t blocks = (s.out + kRows - 1) / kRows;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kRows * s.in * s.tokens));
  parallel(threads, blocks, grain, [&](int64_t first, int64_t end) {
    for (int64_t row = first * kRows; row < end * kRows; row += kRows) {
      int64_t t = 0;
      for (; t + 4 <= s.tokens; t += 4) few_rows<4>(weight, x + t * s.in, out + t * s.out, add, row, s);
      for (; t + 2 <= s.tokens; t += 2) few_rows<2>(weight, x + t * s.in, out + t * s.out, add, row, s);
      if (t < s.tokens) few_rows<1>(weight, x + t * s.in, out + t * s.out, add, row, s);
    }
  });
}

template <class W>
void norm_linear_of(int64_t threads, float* out, const float* x, const float* scale, float eps, const W* weight, const Shape& s) {
  float* ready = scratch(s.tokens * s.in).data();
  for (int64_t t = 0; t < s.tokens; ++t) {
    const float* from = x + t * s.in;
    float squares[1][1];
    dots<1, 1>({from}, {from}, s.in, squares);
    const float factor = 1.0f / std::sqrt(squares[0][0] / s.in + eps);
    for (int64_t i = 0; i < s.in; ++i) ready[t * s.in + place<W>(i, s.in)] = from[i] * factor * scale[i];
  }
  product(threads, out, ready, weight, false, s);
}

template <class W>
void linear_add_of(int64_t threads, float* out, const float* x, const W* weight, const Shape& s) {
  float* ready = scratch(s.tokens * s.in).data();
  for (int64_t t = 0; t < s.tokens; ++t) {
    for (int64_t i = 0; i < s.in; ++i) ready[t * s.in + place<W>(i, s.in)] = x[t * s.in + i];
  }
  product(threads, out, ready, weight, true, s);
}

template <class W>
void swiglu_linear_add_of(int64_t threads, float* out, const float* gate_up, const W* weight, const Shape& s) {
  float* ready = scratch(s.tokens * s.in).data();
  for (int64_t t = 0; t < s.tokens; ++t) {
    const float *gate = gate_up + 2 * t * s.in, *up = gate + s.in;
    for (int64_t i = 0; i < s.in; ++i) ready[t * s.in + place<W>(i, s.in)] = silu(gate[i]) * up[i];
  }
  product(threads, out, ready, weight, true, s);
}

}  // namespace

extern "C" {

void norm_linear_f32(int64_t threads, float* out, const float* x, const float* scale, float eps, const float* weight,
                     int64_t tokens, int64_t in, int64_t n_out) {
  norm_linear_of(threads, out, x, scale, eps, weight, {tokens, in, n_out});
}
void norm_linear_bf16(int64_t threads, float* out, const float* x, const float* scale, float eps, const bf16* weight,
                      int64_t tokens, int64_t in, int64_t n_out) {
  norm_linear_of(threads, out, x, scale, eps, weight, {tokens, in, n_out});
}
void linear_add_f32(int64_t threads, float* out, const float* x, const float* weight, int64_t tokens, int64_t in, int64_t n_out) {
  linear_add_of(threads, out, x, weight, {tokens, in, n_out});
}
void linear_add_bf16(int64_t threads, float* out, const float* x, const bf16* weight, int64_t tokens, int64_t in, int64_t n_out) {
  linear_add_of(threads, out, x, weight, {tokens, in, n_out});
}
void swiglu_linear_add_f32(int64_t threads, float* out, const float* gate_up, const float* weight, int64_t tokens, int64_t in,
                           int64_t n_out) {
  swiglu_linear_add_of(threads, out, gate_up, weight, {tokens, in, n_out});
}
void swiglu_linear_add_bf16(int64_t threads, float* out, const float* gate_up, const bf16* weight, int64_t tokens, int64_t in,
                            int64_t n_out) {
  swiglu_linear_add_of(threads, out, gate_up, weight, {tokens, in, n_out});
}

}  // extern "C"
