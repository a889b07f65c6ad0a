// What comes before the delta rule: convolution, SiLU and unit length, on a block of tokens of one head, and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "delta_vectors.h"

namespace {

constexpr int64_t kTaps = 4;      // width of the convolution
constexpr int64_t kBlock = 32;    // tokens of a block
constexpr float kScale = 0.125f;  // 1 / sqrt(kDim), of the queries
constexpr float kEpsilon = 1e-6f;

enum Part { kQuery, kKey, kValue, kParts };

// The three vectors of each token of a block, and what their gradient needs.
struct Block {
  alignas(64) float conv[kParts][kBlock][kDim];  // before the SiLU
  alignas(64) float out[kParts][kBlock][kDim];   // what the delta rule sees
  float inverse_norm[kParts][kBlock];            // of queries and keys
};

// Where head h of row b lies in mixed [B, T, 3 H 64] and its gradient, out [B, T, H, 64], and g, beta [B, T, H].
// A token of mixed may be `stride` elements from the next; everything else is contiguous.
struct Place {
  int64_t tokens, heads, stride, row, head;
  Place(const at::Tensor& mixed, const at::Tensor& g, int64_t bh)
      : tokens(g.size(1)), heads(g.size(2)), stride(mixed.stride(1)), row(bh / heads), head(bh % heads) {}
  int64_t channel(int part) const { return (part * heads + head) * kDim; }
  int64_t mixed(int part, int64_t t) const { return (row * tokens + t) * stride + channel(part); }
  int64_t d_mixed(int part, int64_t t) const { return (row * tokens + t) * kParts * heads * kDim + channel(part); }
  int64_t scalar(int64_t t) const { return (row * tokens + t) * heads + head; }
  int64_t vector(int64_t t) const { return scalar(t) * kDim; }
};

// Weights of one head's channels by tap: [part][tap][channel].
struct Taps {
  alignas(64) float of[kParts][kTaps][kDim];
  Taps(const float* weight, const Place& at) {
    for (int part = 0; part < kParts; ++part)
      for (int64_t c = 0; c < kDim; ++c)
        for (int64_t tap = 0; tap < kTaps; ++tap) of[part][tap][c] = weight[(at.channel(part) + c) * kTaps + tap];
  }
};

template <typename Scalar>
void convolve(const Scalar* mixed, const Taps& taps, const Place& at, int part, int64_t t, float* __restrict out) {
  for (int64_t c = 0; c < kDim; ++c) out[c] = 0;
  for (int64_t tap = std::max<int64_t>(0, kTaps - 1 - t); tap < kTaps; ++tap) {
    const Scalar* __restrict x = mixed + at.mixed(part, t + tap - (kTaps - 1));
    const float* __restrict w = taps.of[part][tap];
    for (int64_t c = 0; c < kDim; ++c) out[c] += w[c] * static_cast<float>(x[c]);
  }
}

template <typename Scalar>
void fill(Block& block, const Scalar* mixed, const Taps& taps, const Place& at, int64_t first, int64_t count) {
  for (int part = 0; part < kParts; ++part) {
    for (int64_t j = 0; j < count; ++j) {
      float* __restrict x = block.conv[part][j];
      float* __restrict y = block.out[part][j];
      convolve(mixed, taps, at, part, first + j, x);
      for (int64_t c = 0; c < kDim; ++c) y[c] = x[c] / (1.0f + std::exp(-x[c]));
      if (part == kValue) continue;
      float squares = 0;
      for (int64_t c = 0; c < kDim; ++c) squares += y[c] * y[c];
      const float inverse = 1.0f / std::sqrt(squares + kEpsilon);
      const float factor = part == kQuery ? inverse * kScale : inverse;
      for (int64_t c = 0; c < kDim; ++c) y[c] *= factor;
      block.inverse_norm[part][j] = inverse;
    }
  }
}

// From the gradient of one token's vector to that of its convolution, in place.
void through_silu_and_norm(const Block& block, int part, int64_t j, float* __restrict d) {
  const float* __restrict x = block.conv[part][j];
  const float* __restrict y = block.out[part][j];
  if (part != kValue) {
    const float scale = part == kQuery ? kScale : 1.0f, inverse = block.inverse_norm[part][j];
    float along = 0;
    for (int64_t c = 0; c < kDim; ++c) along += y[c] * d[c];
    along /= scale * scale;
    for (int64_t c = 0; c < kDim; ++c) d[c] = inverse * scale * (d[c] - y[c] * along);
  }
  for (int64_t c = 0; c < kDim; ++c) {
    const float gate = 1.0f / (1.0f + std::exp(-x[c]));
    d[c] *= gate * (1.0f + x[c] * (1.0f - gate));
  }
}

// Gradients of the convolution's outputs, one block and the three tokens after it: [part][token][channel].
struct ConvGradient {
  alignas(64) float of[kParts][kBlock + kTaps - 1][kDim] = {};
  // Move on to the block before: its last tokens feel the first ones of this block.
  void shift() {
    for (auto& part : of) std::memmove(part[kBlock], part[0], (kTaps - 1) * kDim * sizeof(float));
  }
};

template <typename Scalar>
void through_convolution(const ConvGradient& d, const Scalar* mixed, Scalar* d_mixed, const Taps& taps, Taps& d_taps,
                         const Place& at, int64_t first, int64_t count) {
  for (int part = 0; part < kParts; ++part) {
    for (int64_t j = 0; j < count; ++j) {
      const Scalar* __restrict x = mixed + at.mixed(part, first + j);
      Scalar* __restrict dx = d_mixed + at.d_mixed(part, first + j);
      alignas(64) float total[kDim] = {}, input[kDim];
      for (int64_t c = 0; c < kDim; ++c) input[c] = static_cast<float>(x[c]);
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        const float* __restrict out = d.of[part][j + kTaps - 1 - tap];
        const float* __restrict w = taps.of[part][tap];
        float* __restrict dw = d_taps.of[part][tap];
        for (int64_t c = 0; c < kDim; ++c) total[c] += w[c] * out[c];
        for (int64_t c = 0; c < kDim; ++c) dw[c] += input[c] * out[c];
      }
      for (int64_t c = 0; c < kDim; ++c) dx[c] = static_cast<Scalar>(total[c]);
    }
  }
}

}  // namespace
