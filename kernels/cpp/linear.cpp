// The operations that are a product with a weight matrix and the small step before it (reference.norm_linear,
// linear_add, swiglu_linear_add).

#include "pool.h"
#include "product.h"
#include "rows.h"
#include "scratch.h"
#include "words.h"

namespace {

// Make every token's activations with row(t, to), then multiply them by the weight.
template <class W, class Row>
void product_of_rows(int64_t threads, float* out, const W* weight, bool add, const Shape& s, const Row& row) {
  if (s.tokens == 0) return;  // a chunk of a prompt that asks for no odds has no rows for the head
  static thread_local Scratch kept;
  float* x = kept.of(s.tokens * s.in);
  const bool many = s.tokens >= kMany;
  parallel(threads, s.tokens, std::max<int64_t>(1, 8192 / s.in), [&](int64_t first, int64_t end) {
    for (int64_t t = first; t < end; ++t) {
      row(t, x + t * s.in);
      if (!many) arrange<W>(x + t * s.in, x + t * s.in, s.in);
    }
  });
  if (many) many_tokens(threads, out, x, weight, add, s);
  else few_tokens(threads, out, x, weight, add, s);
}

template <class W>
void norm_linear(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float *x = w.address<float>(), *scale = w.address<float>();
  const float eps = w.real();
  const W* weight = w.address<W>();
  const Shape s{w.whole(), w.whole(), w.whole()};
  product_of_rows(threads, out, weight, false, s, [&](int64_t t, float* to) {
    norm_row(x + t * s.in, scale, eps, s.in, to);
  });
}

template <class W>
void linear_add(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float* x = w.address<float>();
  const W* weight = w.address<W>();
  const Shape s{w.whole(), w.whole(), w.whole()};
  product_of_rows(threads, out, weight, true, s, [&](int64_t t, float* to) {
    std::copy(x + t * s.in, x + (t + 1) * s.in, to);
  });
}

template <class W>
void swiglu_linear_add(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const float* gate_up = w.address<float>();
  const W* weight = w.address<W>();
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

void norm_linear_f32(int64_t threads, const int64_t* words) { norm_linear<float>(threads, words); }
void norm_linear_bf16(int64_t threads, const int64_t* words) { norm_linear<bf16>(threads, words); }
void linear_add_f32(int64_t threads, const int64_t* words) { linear_add<float>(threads, words); }
void linear_add_bf16(int64_t threads, const int64_t* words) { linear_add<bf16>(threads, words); }
void swiglu_linear_add_f32(int64_t threads, const int64_t* words) { swiglu_linear_add<float>(threads, words); }
void swiglu_linear_add_bf16(int64_t threads, const int64_t* words) { swiglu_linear_add<bf16>(threads, words); }

}  // extern "C"
