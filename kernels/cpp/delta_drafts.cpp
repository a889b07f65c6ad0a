// A pass through a Gated DeltaNet layer in which some sequences carry guessed tokens
// (reference.drafted_gated_delta_net), and the end of it, when it is known how many of them count
// (reference.fold_drafts).
//
// A drafted sequence reads each head's state once for all its tokens: with S the state before the pass,
//
//     S_t x = exp(G_t) S x + sum over i <= t of exp(G_t - G_i) (k_i . x) u_i
//
// so the states in between are never formed. Folding is one walk, too. The factors exp(G_t - G_i) are products of
// decays, for differences of large sums would be off.

#include <vector>

#include "delta_net.h"
#include "scratch.h"

namespace {

using namespace delta_net;

// S x for the key and the query of every token: reads [tokens][2][V].
void read_state(const Call& c, const float* S, const std::vector<Token>& tokens, float* reads) {
  int64_t row = 0;
  const auto some = [&](auto count) {
    constexpr int R = count();
    const float* rows[R];
    for (int r = 0; r < R; ++r) rows[r] = S + (row + r) * c.key_dim;
    float* to = reads + row;
    for (const Token& token : tokens) {
      float read[2 * R];
      store_dots<R, 2, float>(read, rows, {token.k, token.q}, c.key_dim);
      for (int r = 0; r < R; ++r) to[r] = read[2 * r], to[c.value_dim + r] = read[2 * r + 1];
      to += 2 * c.value_dim;
    }
  };
  for (; row + 4 <= c.value_dim; row += 4) some(std::integral_constant<int, 4>{});
  for (; row < c.value_dim; ++row) some(std::integral_constant<int, 1>{});
}

// to [n] = factor * to + times * from
void mix(float* to, float factor, const float* from, float times, int64_t n) {
  each_lane(n, [&](int64_t j, int64_t count) {
    store(to + j, factor * load(to + j, count) + times * load(from + j, count), count);
  });
}

// All tokens of the drafted sequence b; its state stays.
void drafted_head(const Call& c, int64_t b, int64_t h) {
  static thread_local Scratch kept;
  static thread_local std::vector<Token> tokens;
  const int64_t first = c.bounds[b], n = c.bounds[b + 1] - first;
  tokens.clear();
  for (int64_t t = 0; t < n; ++t) tokens.emplace_back(c, first + t, h);
  float* reads = kept.of(n * (2 * c.value_dim + 1));
  float* since = reads + n * 2 * c.value_dim;  // exp(G_t - G_i)
  float whole = 1;                             // exp(G_t)
  read_state(c, c.states + (c.slots[b] * c.value_heads + h) * c.value_dim * c.key_dim, tokens, reads);
  for (int64_t t = 0; t < n; ++t) {
    const Token& token = tokens[t];
    const float decay = std::exp(token.g);
    whole *= decay;
    float *held = reads + t * 2 * c.value_dim, *read = held + c.value_dim;
    float* u = c.writes + ((first + t) * c.value_heads + h) * c.value_dim;
    c.log_decays[(first + t) * c.value_heads + h] = token.g;
    float factor = whole;
    for (int64_t i = 0; i < t; ++i) {
      since[i] *= decay;
      float met[2];
      store_dots<1, 2, float>(met, {tokens[i].k}, {token.k, token.q}, c.key_dim);
      const float* written = c.writes + ((first + i) * c.value_heads + h) * c.value_dim;
      mix(held, factor, written, since[i] * met[0], c.value_dim);
      mix(read, factor, written, since[i] * met[1], c.value_dim);
      factor = 1;
    }
    since[t] = 1;
    for (int64_t j = 0; j < c.value_dim; ++j) u[j] = token.beta * (token.v[j] - factor * held[j]);
    std::copy(read, read + c.value_dim, token.o);
    mix(token.o, factor, u, dots<1, 1, float>({token.k}, {token.q}, c.key_dim)[0], c.value_dim);
    norm_and_gate(c, token);
  }
}

struct Fold {
  const float *keys, *writes, *log_decays, *inputs;
  float *windows, *states;
  const int64_t *bounds, *slots, *accepted;
  int64_t sequences, key_heads, value_heads, key_dim, value_dim, taps;

  int64_t channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

// S <- exp(g) S + u k^T for the first n tokens of sequence b, all in one walk.
void fold_state(const Fold& f, int64_t b, int64_t h, int64_t n) {
  static thread_local Scratch kept;
  const int64_t first = f.bounds[b], key_head = h / (f.value_heads / f.key_heads);
  float *since = kept.of(2 * n), *times = since + n, whole = 1;
  for (int64_t i = n - 1; i >= 0; --i) {
    since[i] = whole;
    whole *= std::exp(f.log_decays[(first + i) * f.value_heads + h]);
  }
  for (int64_t v = 0; v < f.value_dim; ++v) {
    float* row = f.states + ((f.slots[b] * f.value_heads + h) * f.value_dim + v) * f.key_dim;
    for (int64_t i = 0; i < n; ++i) {
      times[i] = since[i] * f.writes[((first + i) * f.value_heads + h) * f.value_dim + v];
    }
    each_lane(f.key_dim, [&](int64_t j, int64_t count) {
      Lane total = whole * load(row + j, count);
      for (int64_t i = 0; i < n; ++i) {
        total += times[i] * load(f.keys + ((first + i) * f.key_heads + key_head) * f.key_dim + j, count);
      }
      store(row + j, total, count);
    });
  }
}

// Move the window of sequence b over its first n inputs.
void fold_window(const Fold& f, int64_t b, int64_t n) {
  const int64_t held = f.taps - 1, channels = f.channels();
  float* window = f.windows + f.slots[b] * held * channels;
  const float* inputs = f.inputs + f.bounds[b] * channels;
  for (int64_t i = 0; i < held; ++i) {
    const float* from = i + n < held ? window + (i + n) * channels : inputs + (i + n - held) * channels;
    std::copy(from, from + channels, window + i * channels);
  }
}

}  // namespace

extern "C" {

void drafted_gated_delta_net(int64_t threads, const int64_t* words) {
  static thread_local Scratch mixed;
  Words w(words);
  Call c = call_of(w, true);
  c.mixed = mixed.of(c.tokens * c.channels());
  layer(threads, c, [&](int64_t b, int64_t h) {
    if (c.is_drafted(b)) drafted_head(c, b, h);
    else if (c.key_dim == 64) head<64>(c, b, h);
    else if (c.key_dim == 128) head<128>(c, b, h);
    else head<0>(c, b, h);
  });
}

void fold_drafts(int64_t threads, const int64_t* words) {
  Words w(words);
  Fold f;
  f.keys = w.address<float>(), f.writes = w.address<float>(), f.log_decays = w.address<float>();
  f.inputs = w.address<float>(), f.windows = w.address<float>(), f.states = w.address<float>();
  f.bounds = w.address<int64_t>(), f.slots = w.address<int64_t>(), f.accepted = w.address<int64_t>();
  f.sequences = w.whole(), f.key_heads = w.whole(), f.value_heads = w.whole();
  f.key_dim = w.whole(), f.value_dim = w.whole(), f.taps = w.whole();
  const int64_t parts = f.value_heads + 1, grain = std::max<int64_t>(1, 8192 / (f.key_dim * f.value_dim));
  parallel(threads, f.sequences * parts, grain, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const int64_t b = i / parts, h = i % parts, n = f.accepted[b];
      if (n <= 0) continue;
      if (h < f.value_heads) fold_state(f, b, h, n);
      else fold_window(f, b, n);
    }
  });
}

}  // extern "C"
