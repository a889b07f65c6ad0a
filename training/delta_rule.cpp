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

#include <ATen/Parallel.h>
#include <torch/extension.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

constexpr int64_t kDim = 64;    // size of a key and of a value
constexpr int64_t kTaps = 4;    // width of the convolution
constexpr int64_t kBlock = 32;  // tokens between two kept states
constexpr int64_t kState = kDim * kDim;
constexpr float kScale = 0.125f;  // 1 / sqrt(kDim), of the queries
constexpr float kEpsilon = 1e-6f;

// Sixteen floats.
typedef float Lane __attribute__((vector_size(64), aligned(4)));

// A key, a value or a row of the state, in four registers. (Four members and not an array, which GCC keeps in memory.)
struct Vec {
  Lane a, b, c, d;
};
inline Vec operator+(const Vec& x, const Vec& y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
inline Vec operator-(const Vec& x, const Vec& y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
inline Vec operator*(const Vec& x, const Vec& y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
inline Vec operator*(float s, const Vec& x) { return {s * x.a, s * x.b, s * x.c, s * x.d}; }

inline Lane load_lane(const float* p) { return *reinterpret_cast<const Lane*>(p); }
inline void store_lane(float* p, Lane x) { *reinterpret_cast<Lane*>(p) = x; }
inline Vec load(const float* p) { return {load_lane(p), load_lane(p + 16), load_lane(p + 32), load_lane(p + 48)}; }
inline void store(float* p, const Vec& x) {
  store_lane(p, x.a), store_lane(p + 16, x.b), store_lane(p + 32, x.c), store_lane(p + 48, x.d);
}

// The sum of a lane by halving it.
inline float sum(Lane x) {
  typedef float Half __attribute__((vector_size(32)));
  typedef float Quarter __attribute__((vector_size(16)));
  const Half half = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}
inline float sum(const Vec& x) { return sum((x.a + x.b) + (x.c + x.d)); }

// ---- the delta rule, one token of one head -----------------------------------------------------------------------------

// v - decay S^T k: what the state lacks of v, before it is scaled by beta. Two sums, so that additions do not wait.
inline Vec error_of(const float* __restrict S, const float* __restrict k, const float* __restrict v, float decay) {
  Vec even = {}, odd = {};
  for (int64_t i = 0; i < kDim; i += 2) {
    even = even + k[i] * load(S + i * kDim);
    odd = odd + k[i + 1] * load(S + (i + 1) * kDim);
  }
  return load(v) - decay * (even + odd);
}

// S = decay S + k u^T; returns S^T q.
inline Vec write_and_read(float* __restrict S, const float* __restrict k, const float* __restrict q, const Vec& u, float decay) {
  Vec even = {}, odd = {};
  for (int64_t i = 0; i < kDim; i += 2) {
    const Vec s0 = decay * load(S + i * kDim) + k[i] * u;
    const Vec s1 = decay * load(S + (i + 1) * kDim) + k[i + 1] * u;
    store(S + i * kDim, s0);
    store(S + (i + 1) * kDim, s1);
    even = even + q[i] * s0;
    odd = odd + q[i + 1] * s1;
  }
  return even + odd;
}

// to = decay from + k u^T.
inline void write(const float* __restrict from, float* __restrict to, const float* __restrict k, const Vec& u, float decay) {
  for (int64_t i = 0; i < kDim; ++i) store(to + i * kDim, decay * load(from + i * kDim) + k[i] * u);
}

// dS += q d_out^T: the output's share of the state's gradient; returns dS^T k, the gradient of u.
inline Vec add_output(float* __restrict dS, const float* __restrict q, const float* __restrict k, const Vec& d_out) {
  Vec du = {};
  for (int64_t i = 0; i < kDim; ++i) {
    const Vec d = load(dS + i * kDim) + q[i] * d_out;
    store(dS + i * kDim, d);
    du = du + k[i] * d;
  }
  return du;
}

struct TokenGradient {
  float *q, *k, *v;
  float g, beta;
};

// One token backwards. S is the state before the token; dS enters as the gradient of the state after it and leaves as
// the gradient of the state before it.
void backward_token(const float* __restrict q, const float* __restrict k, float decay, float beta, const Vec& error,
                    const Vec& d_out, const float* __restrict S, float* __restrict dS, TokenGradient& grad) {
  const Vec du = add_output(dS, q, k, d_out), u = beta * error, d_value = beta * du;
  store(grad.v, d_value);
  grad.beta = sum(du * error);
  const float u_dot_d_out = sum(u * d_out);
  const Vec d_read = -1.0f * d_value, d_read_decayed = decay * d_read;
  Lane d_decay = {};
  float* __restrict dq = grad.q;
  float* __restrict dk = grad.k;
  for (int64_t i = 0; i < kDim; ++i) {
    const Vec s = load(S + i * kDim), d = load(dS + i * kDim);
    const Vec d_decayed = d + k[i] * d_read;
    store(dS + i * kDim, decay * d_decayed);
    const Vec growth = d_decayed * s, query = s * d_out, key = d * u + s * d_read_decayed;
    d_decay += (growth.a + growth.b) + (growth.c + growth.d);
    dq[i] = decay * sum(query) + k[i] * u_dot_d_out;
    dk[i] = sum(key);
  }
  grad.g = decay * sum(d_decay);
}

// ---- convolution, SiLU and unit length, a block of tokens of one head --------------------------------------------------

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

// ---- a whole row of one head -------------------------------------------------------------------------------------------

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
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, mixed.scalar_type(), "delta_rule_forward", [&] {
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
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, mixed.scalar_type(), "delta_rule_backward", [&] {
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

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("forward", &forward);
  module.def("backward", &backward);
}
