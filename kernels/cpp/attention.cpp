// What a gated full-attention layer does between its two projections (reference.gated_attention), on paged keys and values.

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.h"
#include "pool.h"

// As laid out by native.py.
struct AttentionShape {
  int64_t sequences, tokens, heads, kv_heads, dim, rotary_dim, pages, page_size, table_width;
};

namespace {

template <class KV>
struct Call : AttentionShape {
  const float *projected, *q_scale, *k_scale, *rotary;
  float eps;
  KV *keys, *values;
  const int64_t *positions, *kv_rows, *bounds;
  const int32_t* page_tables;
  float *queries, *out;

  int64_t width() const { return 2 * (heads + kv_heads) * dim; }
  int64_t group() const { return heads / kv_heads; }
  int64_t pool_row(int64_t kv_head, int64_t row) const { return (kv_head * pages * page_size + row) * dim; }
};

// Normalize a head and rotate its first dimensions, half against half; `row` is the position's cosines, then sines.
void norm_and_rotate(const float* x, const float* scale, float eps, const float* row, int64_t dim, int64_t rotary_dim, float* to) {
  float squares[1][1];
  dots<1, 1, float>({x}, {x}, dim, squares);
  const float factor = 1.0f / std::sqrt(squares[0][0] / dim + eps);
  for (int64_t j = 0; j < dim; ++j) to[j] = x[j] * factor * scale[j];
  const int64_t half = rotary_dim / 2;
  for (int64_t j = 0; j < half; ++j) {
    const float a = to[j], b = to[half + j], cosine = row[j], sine = row[half + j];
    to[j] = a * cosine - b * sine;
    to[half + j] = b * cosine + a * sine;
  }
}

// Put a token's keys and values into the cache, and its queries, scaled, into the order that `dots` wants beside the cache.
template <class KV>
void prepare(const Call<KV>& c, int64_t t, float* head) {
  const float* row = c.rotary + c.positions[t] * c.rotary_dim;
  const float *q = c.projected + t * c.width(), *k = q + 2 * c.heads * c.dim, *v = k + c.kv_heads * c.dim;
  const float root = 1.0f / std::sqrt(static_cast<float>(c.dim));
  for (int64_t h = 0; h < c.heads; ++h) {
    norm_and_rotate(q + h * c.dim, c.q_scale, c.eps, row, c.dim, c.rotary_dim, head);
    float* to = c.queries + (t * c.heads + h) * c.dim;
    for (int64_t j = 0; j < c.dim; ++j) to[place<KV>(j, c.dim)] = head[j] * root;
  }
  for (int64_t h = 0; h < c.kv_heads; ++h) {
    norm_and_rotate(k + h * c.dim, c.k_scale, c.eps, row, c.dim, c.rotary_dim, head);
    const int64_t at = c.pool_row(h, c.kv_rows[t]);
    for (int64_t j = 0; j < c.dim; ++j) narrow(head[j], c.keys + at + j), narrow(v[h * c.dim + j], c.values + at + j);
  }
}

// Scores of C query heads over positions [0, held), then their softmax, in scores [C][stride].
template <int C, class KV>
void weigh(const Call<KV>& c, const float* q, int64_t kv_head, const int32_t* table, int64_t held, float* scores, int64_t stride) {
  const float* cols[C];
  for (int i = 0; i < C; ++i) cols[i] = q + i * c.dim;
  for (int64_t p = 0; p < held; p += 4) {
    const KV* rows[4];
    for (int64_t r = 0; r < 4; ++r) {
      const int64_t at = std::min(p + r, held - 1);
      rows[r] = c.keys + c.pool_row(kv_head, table[at / c.page_size] * c.page_size + at % c.page_size);
    }
    float y[4][C];
    dots<4, C>(rows, cols, c.dim, y);
    for (int64_t r = 0; r < std::min<int64_t>(4, held - p); ++r) {
      for (int i = 0; i < C; ++i) scores[i * stride + p + r] = y[r][i];
    }
  }
  for (int i = 0; i < C; ++i) {
    float* s = scores + i * stride;
    const float top = *std::max_element(s, s + held);
    float total = 0;
    for (int64_t p = 0; p < held; ++p) s[p] = fast_exp(s[p] - top);
    for (int64_t p = 0; p < held; ++p) total += s[p];
    for (int64_t p = 0; p < held; ++p) s[p] /= total;
  }
}

// out [C][dim] = the values weighted by scores [C][stride].
template <int C, class KV>
void gather(const Call<KV>& c, int64_t kv_head, const int32_t* table, int64_t held, const float* scores, int64_t stride, float* out) {
  std::fill(out, out + C * c.dim, 0.0f);
  for (int64_t p = 0; p < held; ++p) {
    const KV* v = c.values + c.pool_row(kv_head, table[p / c.page_size] * c.page_size + p % c.page_size);
    for (int i = 0; i < C; ++i) {
      const float weight = scores[i * stride + p];
      for (int64_t j = 0; j < c.dim; ++j) out[i * c.dim + j] += weight * wide(v[j]);
    }
  }
}

template <int C, class KV>
void attend(const Call<KV>& c, int64_t t, int64_t b, int64_t first_head, float* scores) {
  const int64_t held = c.positions[t] + 1, kv_head = first_head / c.group();
  const int32_t* table = c.page_tables + b * c.table_width;
  float* out = c.out + (t * c.heads + first_head) * c.dim;
  weigh<C>(c, c.queries + (t * c.heads + first_head) * c.dim, kv_head, table, held, scores, held);
  gather<C>(c, kv_head, table, held, scores, held, out);
  const float* gate = c.projected + t * c.width() + (c.heads + first_head) * c.dim;
  for (int64_t j = 0; j < C * c.dim; ++j) out[j] *= sigmoid(gate[j]);
}

// All query heads of one key head for one token.
template <class KV>
void group(const Call<KV>& c, int64_t t, int64_t b, int64_t kv_head) {
  static thread_local std::vector<float> scores;
  scores.resize(std::max<size_t>(scores.size(), 4 * (c.positions[t] + 1)));
  int64_t h = kv_head * c.group();
  const int64_t end = h + c.group();
  for (; h + 4 <= end; h += 4) attend<4>(c, t, b, h, scores.data());
  for (; h + 2 <= end; h += 2) attend<2>(c, t, b, h, scores.data());
  if (h < end) attend<1>(c, t, b, h, scores.data());
}

template <class KV>
void run(int64_t threads, Call<KV> c) {
  static thread_local std::vector<float> queries;
  queries.resize(std::max<size_t>(queries.size(), c.tokens * c.heads * c.dim));
  c.queries = queries.data();
  parallel(threads, c.tokens, 8, [&](int64_t first, int64_t end) {
    std::vector<float> head(c.dim);
    for (int64_t t = first; t < end; ++t) prepare(c, t, head.data());
  });
  parallel(threads, c.tokens * c.kv_heads, 1, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const int64_t t = i / c.kv_heads;
      const int64_t b = std::upper_bound(c.bounds, c.bounds + c.sequences + 1, t) - c.bounds - 1;
      group(c, t, b, i % c.kv_heads);
    }
  });
}

}  // namespace

extern "C" {

void gated_attention_f32(int64_t threads, float* out, const float* projected, const float* q_scale, const float* k_scale, float eps,
                         const float* rotary, float* keys, float* values, const int64_t* positions, const int64_t* kv_rows,
                         const int32_t* page_tables, const int64_t* bounds, const AttentionShape* s) {
  run<float>(threads, {*s, projected, q_scale, k_scale, rotary, eps, keys, values, positions, kv_rows, bounds, page_tables, nullptr, out});
}
void gated_attention_bf16(int64_t threads, float* out, const float* projected, const float* q_scale, const float* k_scale, float eps,
                          const float* rotary, bf16* keys, bf16* values, const int64_t* positions, const int64_t* kv_rows,
                          const int32_t* page_tables, const int64_t* bounds, const AttentionShape* s) {
  run<bf16>(threads, {*s, projected, q_scale, k_scale, rotary, eps, keys, values, positions, kv_rows, bounds, page_tables, nullptr, out});
}

}  // extern "C"
