// The token mixer of a Gated DeltaNet layer and its gradient on CPU: convolution, SiLU, unit length, delta rule.
//
// Each (row, head) keeps its state S, a key x value matrix of 16 KiB, in the first-level cache and walks over the tokens:
//
//     S <- exp(g) S;   u = beta (v - S^T k);   S <- S + k u^T;   o = S^T q
//
// (Gated Delta Networks, arXiv 2412.06464, equation 10.) The chunked form of the paper exists to feed matrix units with
// large products; on a CPU core with a head of 64 x 64 the plain recurrence is faster, and needs no triangular solve.
//
// The gradient needs every S again. The forward pass keeps one state in `kBlock` tokens; the backward pass recomputes the
// block's queries, keys, values and states into a scratch that stays in the second-level cache, then walks it backwards.

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "delta_convolution.h"
#include "delta_token.h"

#define FLOAT_OR_BFLOAT16(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(at::kFloat, __VA_ARGS__) AT_DISPATCH_CASE(at::kBFloat16, __VA_ARGS__))

namespace {

constexpr int64_t kState = kDim * kDim;

template <typename Scalar>
struct Inputs {
  const Scalar* mixed;
  const float *weight, *g, *beta;
};

template <typename Scalar>
void forward_head(const Inputs<Scalar>& in, Scalar* out, float* kept, float* errors, const Place& at) {
  alignas(64) float S[kState] = {};
  const Taps taps(in.weight, at);
  Block block;
  for (int64_t first = 0; first < at.tokens; first += kBlock) {
    const int64_t count = std::min(kBlock, at.tokens - first);
    std::copy(S, S + kState, kept + (first / kBlock) * kState);
    fill(block, in.mixed, taps, at, first, count);
    for (int64_t j = 0; j < count; ++j) {
      const int64_t y = at.scalar(first + j);
      const float decay = std::exp(in.g[y]), *k = block.out[kKey][j];
      const Vec error = error_of(S, k, block.out[kValue][j], decay);
      store(errors + at.vector(first + j), error);
      alignas(64) float o[kDim];
      store(o, write_and_read(S, k, block.out[kQuery][j], in.beta[y] * error, decay));
      Scalar* __restrict to = out + at.vector(first + j);
      for (int64_t c = 0; c < kDim; ++c) to[c] = static_cast<Scalar>(o[c]);
    }
  }
}

// Aligned to cache lines: a lane that straddles two lines costs twice.
struct Scratch {
  std::unique_ptr<float, decltype(&std::free)> states{
      static_cast<float*>(std::aligned_alloc(64, kBlock * kState * sizeof(float))), &std::free};
  Block block;
  ConvGradient d_conv;
};

template <typename Scalar>
void recompute(const Inputs<Scalar>& in, const float* kept, const float* errors, const Taps& taps, const Place& at,
               int64_t first, int64_t count, Scratch& scratch) {
  float* states = scratch.states.get();
  std::copy(kept + (first / kBlock) * kState, kept + (first / kBlock + 1) * kState, states);
  fill(scratch.block, in.mixed, taps, at, first, count);
  for (int64_t j = 0; j + 1 < count; ++j, states += kState) {
    const int64_t y = at.scalar(first + j);
    const Vec u = in.beta[y] * load(errors + at.vector(first + j));
    write(states, states + kState, scratch.block.out[kKey][j], u, std::exp(in.g[y]));
  }
}

template <typename Scalar>
struct Gradients {
  Scalar* mixed;
  float *taps, *g, *beta;
};

template <typename Scalar>
void backward_head(const Inputs<Scalar>& in, const Gradients<Scalar>& grad, const Scalar* d_out, const float* kept,
                   const float* errors, const Place& at) {
  alignas(64) float dS[kState] = {};
  const Taps taps(in.weight, at);
  Taps d_taps(taps);
  std::memset(d_taps.of, 0, sizeof d_taps.of);
  const auto scratch = std::make_unique<Scratch>();
  for (int64_t first = (at.tokens - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    const int64_t count = std::min(kBlock, at.tokens - first);
    recompute(in, kept, errors, taps, at, first, count, *scratch);
    for (int64_t j = count - 1; j >= 0; --j) {
      const int64_t y = at.scalar(first + j);
      alignas(64) float d[kDim];
      const Scalar* __restrict from = d_out + at.vector(first + j);
      for (int64_t c = 0; c < kDim; ++c) d[c] = static_cast<float>(from[c]);
      auto& d_conv = scratch->d_conv.of;
      TokenGradient token{d_conv[kQuery][j], d_conv[kKey][j], d_conv[kValue][j], 0, 0};
      backward_token(scratch->block.out[kQuery][j], scratch->block.out[kKey][j], std::exp(in.g[y]), in.beta[y],
                     load(errors + at.vector(first + j)), load(d), scratch->states.get() + j * kState, dS, token);
      grad.g[y] = token.g;
      grad.beta[y] = token.beta;
      for (int part = 0; part < kParts; ++part) through_silu_and_norm(scratch->block, part, j, d_conv[part][j]);
    }
    through_convolution(scratch->d_conv, in.mixed, grad.mixed, taps, d_taps, at, first, count);
    scratch->d_conv.shift();
  }
  std::copy(&d_taps.of[0][0][0], &d_taps.of[0][0][0] + kParts * kTaps * kDim, grad.taps);
}

// ---- tensors -----------------------------------------------------------------------------------------------------------

void check(const at::Tensor& mixed, const at::Tensor& weight, const at::Tensor& g, const at::Tensor& beta) {
  TORCH_CHECK(mixed.dim() == 3 && mixed.stride(2) == 1 && mixed.stride(0) == mixed.size(1) * mixed.stride(1),
              "mixed is [B, T, 3 H 64], its tokens evenly spaced");
  for (const at::Tensor& x : {weight, g, beta}) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == at::kFloat, "weight, g and beta are contiguous float32 tensors");
  }
  TORCH_CHECK(mixed.size(2) == kParts * kDim * g.size(2), "heads of size ", kDim, " are expected, queries as many as values");
  TORCH_CHECK(weight.numel() == mixed.size(2) * kTaps, "a convolution of width ", kTaps, " is expected");
}

template <typename Scalar>
Inputs<Scalar> inputs(const at::Tensor& mixed, const at::Tensor& weight, const at::Tensor& g, const at::Tensor& beta) {
  return {mixed.const_data_ptr<Scalar>(), weight.const_data_ptr<float>(), g.const_data_ptr<float>(),
          beta.const_data_ptr<float>()};
}

}  // namespace

// Outputs [B, T, H, 64] in the type of mixed; and kept for the gradient, states [B * H, ceil(T / 32), 64, 64] and what each
// token lacked of its value [B, T, H, 64].
std::vector<at::Tensor> forward(at::Tensor mixed, at::Tensor weight, at::Tensor g, at::Tensor beta) {
  check(mixed, weight, g, beta);
  const int64_t batch = g.size(0), tokens = g.size(1), heads = g.size(2), blocks = (tokens + kBlock - 1) / kBlock;
  at::Tensor out = at::empty({batch, tokens, heads, kDim}, mixed.options());
  at::Tensor kept = at::empty({batch * heads, blocks, kDim, kDim}, g.options());
  at::Tensor errors = at::empty({batch, tokens, heads, kDim}, g.options());
  FLOAT_OR_BFLOAT16(mixed.scalar_type(), "delta_rule_forward", [&] {
    const auto in = inputs<scalar_t>(mixed, weight, g, beta);
    scalar_t* o = out.data_ptr<scalar_t>();
    float *s = kept.data_ptr<float>(), *e = errors.data_ptr<float>();
    at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t bh = begin; bh < end; ++bh) forward_head(in, o, s + bh * blocks * kState, e, Place(mixed, g, bh));
    });
  });
  return {out, kept, errors};
}

// Gradients of mixed, of the convolution's weights [B, H, 3, 4, 64] (to be summed over B), of g and of beta.
std::vector<at::Tensor> backward(at::Tensor d_out, at::Tensor mixed, at::Tensor weight, at::Tensor g, at::Tensor beta,
                                 at::Tensor kept, at::Tensor errors) {
  check(mixed, weight, g, beta);
  TORCH_CHECK(d_out.is_contiguous() && d_out.scalar_type() == mixed.scalar_type(), "d_out is contiguous, typed as mixed");
  const int64_t batch = g.size(0), tokens = g.size(1), heads = g.size(2), blocks = kept.size(1);
  at::Tensor d_mixed = at::empty(mixed.sizes(), mixed.options()), d_g = at::empty_like(g), d_beta = at::empty_like(beta);
  at::Tensor d_taps = at::empty({batch, heads, kParts, kTaps, kDim}, g.options());
  FLOAT_OR_BFLOAT16(mixed.scalar_type(), "delta_rule_backward", [&] {
    const auto in = inputs<scalar_t>(mixed, weight, g, beta);
    const scalar_t* d = d_out.const_data_ptr<scalar_t>();
    const float *s = kept.const_data_ptr<float>(), *e = errors.const_data_ptr<float>();
    const Gradients<scalar_t> to{d_mixed.data_ptr<scalar_t>(), d_taps.data_ptr<float>(), d_g.data_ptr<float>(),
                                 d_beta.data_ptr<float>()};
    at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t bh = begin; bh < end; ++bh) {
        auto head = to;
        head.taps += bh * kParts * kTaps * kDim;
        backward_head(in, head, d, s + bh * blocks * kState, e, Place(mixed, g, bh));
      }
    });
  });
  return {d_mixed, d_taps, d_g, d_beta};
}

TORCH_LIBRARY(training_delta_rule, library) {
  library.def("forward(Tensor mixed, Tensor weight, Tensor g, Tensor beta) -> Tensor[]", &forward);
  library.def("backward(Tensor d_out, Tensor mixed, Tensor weight, Tensor g, Tensor beta, Tensor kept, Tensor errors) -> Tensor[]",
              &backward);
}
