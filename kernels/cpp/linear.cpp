// The operations that are a product with a weight matrix and the small step before it (reference.norm_linear,
// linear_add, swiglu_linear_add).

#include "panels.h"
#include "pool.h"
#include "product.h"
#include "rows.h"
#include "scratch.h"
#include "words.h"

#include <type_traits>

namespace {

// A weight [out, in] row by row, as a checkpoint has it.
template <class W>
struct Rows {
  const W* numbers;
};

// x, as the few tokens need it for a weight in rows, and the product with it.
template <class W>
void ready(float* x, Rows<W>, const Shape& s) {
  if (s.tokens < kMany) arrange<W>(x, x, s.in);
}
template <class W>
void product(int64_t threads, float* out, const float* x, Rows<W> weight, bool add, const Shape& s) {
  if (s.tokens >= kMany) many_tokens(threads, out, x, weight.numbers, add, s);
  else few_tokens(threads, out, x, weight.numbers, add, s);
}
template <class W>
void ready(float*, Panels<W>, const Shape&) {}
template <class W>
void product(int64_t threads, float* out, const float* x, Panels<W> weight, bool add, const Shape& s) {
  panel_product(threads, out, x, weight, add, s);
}

// Make every token's activations with row(t, to), then multiply them by the weight.
template <class Weight, class Row>
void product_of_rows(int64_t threads, float* out, Weight weight, bool add, const Shape& s, const Row& row) {
  if (s.tokens == 0) return;  // a chunk of a prompt that asks for no odds has no rows for the head
  static thread_local Scratch kept;
  float* x = kept.of(s.tokens * s.in);
  parallel(threads, s.tokens, std::max<int64_t>(1, 8192 / s.in), [&](int64_t first, int64_t end) {
    for (int64_t t = first; t < end; ++t) {
      row(t, x + t * s.in);
      ready(x + t * s.in, weight, s);
    }
  });
  product(threads, out, x, weight, add, s);
}

template <class Weight>
Weight weight_of(Words& w) {
  return {w.address<std::remove_pointer_t<decltype(Weight::numbers)>>()};
}

template <class Weight>
void norm_linear(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float *x = w.address<float>(), *scale = w.address<float>();
  const float eps = w.real();
  const auto weight = weight_of<Weight>(w);
  const Shape s{w.whole(), w.whole(), w.whole()};
  product_of_rows(threads, out, weight, false, s, [&](int64_t t, float* to) {
    norm_row(x + t * s.in, scale, eps, s.in, to);
  });
}

template <class Weight>
void linear_add(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float* x = w.address<float>();
  const auto weight = weight_of<Weight>(w);
  const Shape s{w.whole(), w.whole(), w.whole()};
  product_of_rows(threads, out, weight, true, s, [&](int64_t t, float* to) {
    std::copy(x + t * s.in, x + (t + 1) * s.in, to);
  });
}

template <class Weight>
void swiglu_linear_add(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float* gate_up = w.address<float>();
  const auto weight = weight_of<Weight>(w);
  const Shape s{w.whole(), w.whole(), w.whole()};
  product_of_rows(threads, out, weight, true, s, [&](int64_t t, float* to) {
    swiglu_row(gate_up + 2 * t * s.in, s.in, to);
  });
}

}  // namespace

extern "C" {

// Whether the processor multiplies bf16 by itself: then a library that knows how is better at many tokens.
int64_t multiplies_bf16() {
#if defined(__AVX512BF16__) || defined(__AMX_BF16__)
  return 1;
#else
  return 0;
#endif
}

// Rows of a panel.
int64_t panel_rows() { return kPanelRows; }

#define BY_WEIGHT(name)                                                                               \
  void name##_f32(int64_t threads, const int64_t* words) { name<Rows<float>>(threads, words); }       \
  void name##_bf16(int64_t threads, const int64_t* words) { name<Rows<bf16>>(threads, words); }       \
  void name##_panels_f32(int64_t threads, const int64_t* words) { name<Panels<float>>(threads, words); } \
  void name##_panels_bf16(int64_t threads, const int64_t* words) { name<Panels<bf16>>(threads, words); }

BY_WEIGHT(norm_linear)
BY_WEIGHT(linear_add)
BY_WEIGHT(swiglu_linear_add)

}  // extern "C"
