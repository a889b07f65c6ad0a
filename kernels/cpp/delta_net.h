// What a plain pass through a Gated DeltaNet layer and a drafted one have in common: the convolution, and the rule for
// one token after another.
//
// The chunked form of the rule exists to feed matrix units. Here a head's state stays in the first-level cache while
// its tokens pass, and each token touches it once: both reads, S k and S q, are taken from the old state in the same
// walk, for the new state's output is exp(g) S q + u (k . q).

#pragma once

#include <cmath>

#include "lanes.h"
#include "pool.h"
#include "words.h"

namespace delta_net {

struct Call {
  float* out;
  const float *projected, *taps_of, *decay_rate, *dt_bias, *norm_weight;
  float eps;
  float *windows, *states;
  const int64_t *bounds, *slots, *drafted = nullptr;  // drafted sequences leave windows and states as they are
  // What drafted sequences would write: keys [tokens, key heads, K], u [tokens, value heads, V], log decays [tokens,
  // value heads] and the inputs of the convolution [tokens, channels].
  float *keys = nullptr, *writes = nullptr, *log_decays = nullptr, *inputs = nullptr;
  int64_t sequences, tokens, key_heads, value_heads, key_dim, value_dim, taps;
  float* mixed;  // the channels after convolution and silu, [tokens, channels]

  int64_t channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  int64_t width() const { return channels() + value_heads * value_dim + 2 * value_heads; }
  bool is_drafted(int64_t b) const { return drafted != nullptr && drafted[b] != 0; }
};

// The input of channel block `at` `back` tokens before row t: from this pass, or from the window of the one before.
inline const float* input(const Call& c, const float* window, int64_t first, int64_t t, int64_t back, int64_t at) {
  const int64_t row = t - back;
  return row >= first ? c.projected + row * c.width() + at : window + (c.taps - 1 + row - first) * c.channels() + at;
}

// Convolve and silu `size` channels from `at` on, for all tokens of sequence b; then leave their last inputs in the
// window, or all in the journal.
inline void convolve(const Call& c, int64_t b, int64_t at, int64_t size) {
  const int64_t first = c.bounds[b], end = c.bounds[b + 1], n = c.channels();
  float* window = c.windows + c.slots[b] * (c.taps - 1) * n;
  for (int64_t t = first; t < end; ++t) {
    float* to = c.mixed + t * n + at;
    each_lane(size, [&](int64_t j, int64_t count) {
      Lane total = {};
      for (int64_t i = 0; i < c.taps; ++i) {
        const float* from = input(c, window, first, t, c.taps - 1 - i, at);
        total += load(from + j, count) * load(c.taps_of + i * n + at + j, count);
      }
      store(to + j, silu(total), count);
    });
  }
  if (c.is_drafted(b)) {
    for (int64_t t = first; t < end; ++t) {
      const float* from = c.projected + t * c.width() + at;
      std::copy(from, from + size, c.inputs + t * n + at);
    }
    return;
  }
  for (int64_t i = 0; i < c.taps - 1; ++i) {
    const float* from = input(c, window, first, end - 1, c.taps - 2 - i, at);
    std::copy(from, from + size, window + i * n + at);
  }
}

// Query and key heads to unit length, queries times 1 / sqrt(K) as well.
inline void normalize(const Call& c, int64_t b, int64_t at, bool query) {
  for (int64_t t = c.bounds[b]; t < c.bounds[b + 1]; ++t) {
    float* x = c.mixed + t * c.channels() + at;
    const float squares = dots<1, 1, float>({x}, {x}, c.key_dim)[0];
    const float factor = 1.0f / std::sqrt((squares + 1e-6f) * (query ? c.key_dim : 1));
    for (int64_t j = 0; j < c.key_dim; ++j) x[j] *= factor;
    if (c.is_drafted(b) && !query) {
      std::copy(x, x + c.key_dim, c.keys + t * c.key_heads * c.key_dim + at - c.key_heads * c.key_dim);
    }
  }
}

// All that a value head meets of one token.
struct Token {
  const float *q, *k, *v, *z;
  float g, beta;  // log of the decay, write strength
  float* o;

  Token(const Call& c, int64_t t, int64_t h) {
    const int64_t n = c.channels(), value_width = c.value_heads * c.value_dim;
    q = c.mixed + t * n + h / (c.value_heads / c.key_heads) * c.key_dim;
    k = q + c.key_heads * c.key_dim;
    v = c.mixed + t * n + 2 * c.key_heads * c.key_dim + h * c.value_dim;
    z = c.projected + t * c.width() + n + h * c.value_dim;
    const float* gates = c.projected + t * c.width() + n + value_width;
    const float x = gates[c.value_heads + h] + c.dt_bias[h];
    g = c.decay_rate[h] * (x > 20 ? x : std::log1p(std::exp(x)));
    beta = sigmoid(gates[h]);
    o = c.out + t * value_width + h * c.value_dim;
  }
};

// Four rows of the state S [V, K] for one token. K is a constant where it is a usual one.
template <int64_t Fixed, int R>
INLINE void rows_of_state(float* S, int64_t size, const Token& token, float decay, float kq, int64_t row) {
  const int64_t n = Fixed ? Fixed : size;
  const float* rows[R];
  for (int r = 0; r < R; ++r) rows[r] = S + (row + r) * n;
  float read[2 * R];
  store_dots<R, 2, float>(read, rows, {token.k, token.q}, n);
  for (int r = 0; r < R; ++r) {
    const float u = token.beta * (token.v[row + r] - decay * read[2 * r]);
    token.o[row + r] = decay * read[2 * r + 1] + u * kq;
    float* to = S + (row + r) * n;
    each_lane(n, [&](int64_t j, int64_t count) {
      store(to + j, decay * load(to + j, count) + u * load(token.k + j, count), count);
    });
  }
}

template <int64_t Fixed>
void step(const Call& c, float* S, const Token& token) {
  const float decay = std::exp(token.g), kq = dots<1, 1, float>({token.k}, {token.q}, c.key_dim)[0];
  int64_t i = 0;
  for (; i + 4 <= c.value_dim; i += 4) rows_of_state<Fixed, 4>(S, c.key_dim, token, decay, kq, i);
  for (; i < c.value_dim; ++i) rows_of_state<Fixed, 1>(S, c.key_dim, token, decay, kq, i);
}

// RMS norm over a head's output with plain weight, times silu of its gate.
inline void norm_and_gate(const Call& c, const Token& token) {
  float* o = token.o;
  const float factor = norm_factor(o, c.value_dim, c.eps);
  each_lane(c.value_dim, [&](int64_t j, int64_t n) {
    store(o + j, load(o + j, n) * factor * load(c.norm_weight + j, n) * silu(load(token.z + j, n)), n);
  });
}

// All tokens of sequence b, one after another.
template <int64_t Fixed>
void head(const Call& c, int64_t b, int64_t h) {
  float* S = c.states + (c.slots[b] * c.value_heads + h) * c.value_dim * c.key_dim;
  for (int64_t t = c.bounds[b]; t < c.bounds[b + 1]; ++t) {
    const Token token(c, t, h);
    step<Fixed>(c, S, token);
    norm_and_gate(c, token);
  }
}

inline Call call_of(Words& w, bool drafted) {
  Call c;
  c.out = w.address<float>(), c.projected = w.address<float>(), c.taps_of = w.address<float>();
  c.decay_rate = w.address<float>(), c.dt_bias = w.address<float>();
  c.norm_weight = w.address<float>(), c.eps = w.real();
  c.windows = w.address<float>(), c.states = w.address<float>();
  c.bounds = w.address<int64_t>(), c.slots = w.address<int64_t>();
  if (drafted) {
    c.drafted = w.address<int64_t>(), c.keys = w.address<float>(), c.writes = w.address<float>();
    c.log_decays = w.address<float>(), c.inputs = w.address<float>();
  }
  c.sequences = w.whole(), c.tokens = w.whole(), c.key_heads = w.whole(), c.value_heads = w.whole();
  c.key_dim = w.whole(), c.value_dim = w.whole(), c.taps = w.whole();
  return c;
}

// The convolution, then each(b, h) for every sequence and value head.
template <class Head>
void layer(int64_t threads, const Call& c, const Head& each) {
  const int64_t blocks = 2 * c.key_heads + c.value_heads, per_sequence = std::max<int64_t>(1, c.tokens / c.sequences);
  const int64_t light = std::max<int64_t>(1, 4096 / (per_sequence * std::max(c.key_dim, c.value_dim)));
  parallel(threads, c.sequences * blocks, light, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const int64_t b = i / blocks, block = i % blocks, keys = 2 * c.key_heads;
      const bool is_value = block >= keys;
      const int64_t at = is_value ? keys * c.key_dim + (block - keys) * c.value_dim : block * c.key_dim;
      convolve(c, b, at, is_value ? c.value_dim : c.key_dim);
      if (!is_value) normalize(c, b, at, block < c.key_heads);
    }
  });
  const int64_t heavy = std::max<int64_t>(1, 4096 / (per_sequence * c.key_dim * c.value_dim));
  parallel(threads, c.sequences * c.value_heads, heavy, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) each(i / c.value_heads, i % c.value_heads);
  });
}

}  // namespace delta_net
