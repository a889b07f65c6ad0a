// What a full-attention layer does between its two projections (reference.gated_attention and, without head norms and
// output gates, reference.attention), on paged keys and values.
//
// Query heads that share a key head, of one token or of a few that follow one another, go over the cache together as
// columns of one product, so that a key or value is widened once for all of them.

#include <cmath>
#include <vector>

#include "lanes.h"
#include "pool.h"
#include "scratch.h"
#include "words.h"

namespace {

constexpr int64_t kColumns = std::min<int64_t>(8, kLane);  // at most

template <class KV>
struct Call {
  float* out;
  const float *projected, *q_scale = nullptr, *k_scale = nullptr;
  float eps;
  const float* rotary;
  KV *keys, *values;
  const int64_t *positions, *kv_rows;
  const int32_t* page_tables;
  const int64_t* bounds;
  int64_t sequences, tokens, heads, kv_heads, dim, rotary_dim, pages, page_size, table_width;
  float* queries;  // normalized, rotated and scaled, [tokens, heads, dim]

  bool gated() const { return q_scale != nullptr; }
  int64_t query_and_gate() const { return (gated() ? 2 : 1) * heads * dim; }
  int64_t width() const { return query_and_gate() + 2 * kv_heads * dim; }
  int64_t group() const { return heads / kv_heads; }
  int64_t pool_row(int64_t kv_head, int64_t row) const { return (kv_head * pages * page_size + row) * dim; }
};

// Normalize a head, if there is a scale, and rotate its first dimensions, half against half; `row` is the position's
// cosines, then sines.
void norm_and_rotate(const float* x, const float* scale, float eps, const float* row, int64_t dim, int64_t rotary_dim,
                     float* to) {
  if (scale == nullptr) {
    std::copy(x, x + dim, to);
  } else {
    const float factor = norm_factor(x, dim, eps);
    for (int64_t j = 0; j < dim; ++j) to[j] = x[j] * factor * scale[j];
  }
  const int64_t half = rotary_dim / 2;
  for (int64_t j = 0; j < half; ++j) {
    const float a = to[j], b = to[half + j], cosine = row[j], sine = row[half + j];
    to[j] = a * cosine - b * sine;
    to[half + j] = b * cosine + a * sine;
  }
}

// Put a token's keys and values into the cache, and its queries, scaled, into the order that `dots` wants beside the
// cache.
template <class KV>
void prepare(const Call<KV>& c, int64_t t, float* head) {
  const float* row = c.rotary + c.positions[t] * c.rotary_dim;
  const float *q = c.projected + t * c.width(), *k = q + c.query_and_gate(), *v = k + c.kv_heads * c.dim;
  const float root = 1.0f / std::sqrt(static_cast<float>(c.dim));
  for (int64_t h = 0; h < c.heads; ++h) {
    norm_and_rotate(q + h * c.dim, c.q_scale, c.eps, row, c.dim, c.rotary_dim, head);
    for (int64_t j = 0; j < c.dim; ++j) head[j] *= root;
    arrange<KV>(head, c.queries + (t * c.heads + h) * c.dim, c.dim);
  }
  for (int64_t h = 0; h < c.kv_heads; ++h) {
    norm_and_rotate(k + h * c.dim, c.k_scale, c.eps, row, c.dim, c.rotary_dim, head);
    const int64_t at = c.pool_row(h, c.kv_rows[t]);
    for (int64_t j = 0; j < c.dim; ++j) narrow(head[j], c.keys + at + j), narrow(v[h * c.dim + j], c.values + at + j);
  }
}

// C columns of one key head: query heads of one or more tokens, each seeing the positions up to its own.
template <int C>
struct Columns {
  const float* queries[C];
  const float* gates[C];  // unless the layer has none
  float* out[C];
  int32_t held[C];
  int64_t most_held;  // of the last token
  const int32_t* table;
  int64_t kv_head;
};

// exp(score - the column's largest) of every position and column, [positions][C], 0 beyond what a column sees; and the
// columns' sums in `totals`. A vector has kLane / C positions of C columns.
template <int C, class KV>
void weigh(const Call<KV>& c, const Columns<C>& columns, float* weights, float (&totals)[C]) {
  constexpr int R = kLane / C;
  Whole limit, place;
  for (int i = 0; i < kLane; ++i) limit[i] = columns.held[i % C], place[i] = i / C;
  const Lane nothing = Lane{} - __builtin_inff();
  Lane top = nothing;
  for (int64_t p = 0; p < columns.most_held; p += R) {
    const KV* rows[R];
    UNROLL for (int r = 0; r < R; ++r) {
      const int64_t at = std::min(p + r, columns.most_held - 1);
      rows[r] = c.keys + c.pool_row(columns.kv_head, columns.table[at / c.page_size] * c.page_size + at % c.page_size);
    }
    const Lane scores = dots<R, C>(rows, columns.queries, c.dim);
    const Lane seen = place + static_cast<int32_t>(p) < limit ? scores : nothing;
    top = seen > top ? seen : top;
    store(weights + p * C, seen);
  }
  float tops[C];
  for (int i = 0; i < C; ++i) {
    tops[i] = top[i];
    for (int j = i; j < kLane; j += C) tops[i] = std::max(tops[i], top[j]);
  }
  for (int i = 0; i < kLane; ++i) top[i] = tops[i % C];
  // Every kLane-th position into the same sum, then these in order, whatever C is: a column's total must not depend on
  // which others came along, or the same tokens would give other odds in a chunk than alone.
  Lane parts[C] = {};
  for (int64_t p = 0; p < columns.most_held; p += kLane) {
    UNROLL for (int i = 0; i < C; ++i) {
      const int64_t at = p * C + i * kLane;
      if (at >= columns.most_held * C) break;
      const Lane weight = exp(load(weights + at) - top);
      parts[i] += weight;
      store(weights + at, weight);
    }
  }
  std::fill(totals, totals + C, 0.0f);
  for (int i = 0; i < kLane * C; ++i) totals[i % C] += parts[i / kLane][i % kLane];
}

// The values weighted and added up, over the totals, times the sigmoid of the gates if there are any: a vector
// of dimensions at a time.
template <int C, class KV>
void gather(const Call<KV>& c, const Columns<C>& columns, const float* weights, const float (&totals)[C]) {
  each_lane(c.dim, [&](int64_t d, int64_t count) {
    Lane sum[C];
    UNROLL for (int i = 0; i < C; ++i) sum[i] = Lane{};
    for (int64_t page = 0; page * c.page_size < columns.most_held; ++page) {
      const int64_t from = page * c.page_size, n = std::min(c.page_size, columns.most_held - from);
      const KV* v = c.values + c.pool_row(columns.kv_head, columns.table[page] * c.page_size) + d;
      for (int64_t p = 0; p < n; ++p) {
        const Lane value = load(v + p * c.dim, count);
        UNROLL for (int i = 0; i < C; ++i) sum[i] += weights[(from + p) * C + i] * value;
      }
    }
    for (int i = 0; i < C; ++i) {
      Lane mean = sum[i] * (1.0f / totals[i]);
      if (c.gated()) mean *= sigmoid(load(columns.gates[i] + d, count));
      store(columns.out[i] + d, mean, count);
    }
  });
}

// Columns `at` ... of sequence b and one key head, counted through the tokens and, within each, the heads of the group.
template <int C, class KV>
void attend(const Call<KV>& c, int64_t b, int64_t kv_head, int64_t at) {
  static thread_local Scratch kept;
  Columns<C> columns;
  for (int i = 0; i < C; ++i) {
    const int64_t t = c.bounds[b] + (at + i) / c.group(), h = kv_head * c.group() + (at + i) % c.group();
    columns.queries[i] = c.queries + (t * c.heads + h) * c.dim;
    columns.gates[i] = c.projected + t * c.width() + (c.heads + h) * c.dim;
    columns.out[i] = c.out + (t * c.heads + h) * c.dim;
    columns.held[i] = static_cast<int32_t>(c.positions[t] + 1);
  }
  columns.most_held = columns.held[C - 1];
  columns.table = c.page_tables + b * c.table_width;
  columns.kv_head = kv_head;
  float* weights = kept.of((columns.most_held + kLane) * C);
  float totals[C];
  weigh(c, columns, weights, totals);
  gather(c, columns, weights, totals);
}

// Up to kColumns of the `n` columns of a sequence and key head.
template <class KV>
void attend_some(const Call<KV>& c, int64_t b, int64_t kv_head, int64_t at, int64_t n) {
  if constexpr (kColumns == 8) {
    if (n >= 8) attend<8>(c, b, kv_head, at), at += 8, n -= 8;
  }
  if (n >= 4) attend<4>(c, b, kv_head, at), at += 4, n -= 4;
  if (n >= 2) attend<2>(c, b, kv_head, at), at += 2, n -= 2;
  if (n >= 1) attend<1>(c, b, kv_head, at);
}

template <class KV, bool Gated>
Call<KV> call_of(const int64_t* words) {
  Words w(words);
  Call<KV> c;
  c.out = w.address<float>(), c.projected = w.address<float>();
  if constexpr (Gated) c.q_scale = w.address<float>(), c.k_scale = w.address<float>(), c.eps = w.real();
  c.rotary = w.address<float>();
  c.keys = w.address<KV>(), c.values = w.address<KV>();
  c.positions = w.address<int64_t>(), c.kv_rows = w.address<int64_t>();
  c.page_tables = w.address<int32_t>(), c.bounds = w.address<int64_t>();
  c.sequences = w.whole(), c.tokens = w.whole(), c.heads = w.whole(), c.kv_heads = w.whole(), c.dim = w.whole();
  c.rotary_dim = w.whole(), c.pages = w.whole(), c.page_size = w.whole(), c.table_width = w.whole();
  return c;
}

template <class KV, bool Gated>
void attention(int64_t threads, const int64_t* words) {
  static thread_local Scratch queries;
  Call<KV> c = call_of<KV, Gated>(words);
  c.queries = queries.of(c.tokens * c.heads * c.dim);
  parallel(threads, c.tokens, 8, [&](int64_t first, int64_t end) {
    static thread_local Scratch head;
    for (int64_t t = first; t < end; ++t) prepare(c, t, head.of(c.dim));
  });
  struct Part {
    int64_t b, at, n;
  };
  std::vector<Part> parts;
  for (int64_t b = 0; b < c.sequences; ++b) {
    const int64_t n = (c.bounds[b + 1] - c.bounds[b]) * c.group();
    for (int64_t at = 0; at < n; at += kColumns) parts.push_back({b, at, std::min(kColumns, n - at)});
  }
  // Chunks are taken from the last, which sees most positions, to the first: no thread is left alone with a long one.
  parallel(threads, static_cast<int64_t>(parts.size()) * c.kv_heads, 1, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const Part& part = parts[i / c.kv_heads];
      attend_some(c, part.b, i % c.kv_heads, part.at, part.n);
    }
  });
}

}  // namespace

extern "C" {

void gated_attention_f32(int64_t threads, const int64_t* words) { attention<float, true>(threads, words); }
void gated_attention_bf16(int64_t threads, const int64_t* words) { attention<bf16, true>(threads, words); }
void attention_f32(int64_t threads, const int64_t* words) { attention<float, false>(threads, words); }
void attention_bf16(int64_t threads, const int64_t* words) { attention<bf16, false>(threads, words); }

}  // extern "C"
