// The gated delta rule on one token of one head, and its gradient. S and dS are key x value matrices.
#pragma once

#include "delta_vectors.h"

namespace {

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

}  // namespace
