// The operations that are a product with a weight matrix, for weights of 4 and 8 bits; linear.cpp has the others.

#include "quantized.h"

#include "pool.h"
#include "rows.h"
#include "words.h"

namespace {

struct Call {
  float* out;
  const float *x, *scale = nullptr;
  float eps = 0;
  Packed weight;
  int64_t tokens;
};

Call call_of(const int64_t* words, bool norm) {
  Words w(words);
  Call c;
  c.out = w.address<float>(), c.x = w.address<float>();
  if (norm) c.scale = w.address<float>(), c.eps = w.real();
  c.weight.bytes = w.address<uint8_t>(), c.tokens = w.whole();
  c.weight.in = w.whole(), c.weight.out = w.whole(), c.weight.group = w.whole();
  return c;
}

// Make every token's numbers with row(t, to), quantize them, then multiply them by the weight.
template <Kind K, class Row>
void product_of_rows(int64_t threads, const Call& c, bool add, const Row& row) {
  if (c.tokens == 0) return;
  static thread_local Scratch kept;
  const Packed& w = c.weight;
  const Tokens tokens = tokens_in(kept, c.tokens, w);
  parallel(threads, c.tokens, std::max<int64_t>(1, 8192 / w.in), [&](int64_t first, int64_t end) {
    static thread_local Scratch one;
    float* to = one.of(w.in);
    for (int64_t t = first; t < end; ++t) row(t, to), quantize_token(to, t, tokens, w);
  });
  quantized_product<K>(threads, c.out, tokens, w, add, c.tokens);
}

template <Kind K>
void norm_linear(int64_t threads, const int64_t* words) {
  const Call c = call_of(words, true);
  const int64_t n = c.weight.in;
  product_of_rows<K>(threads, c, false, [&](int64_t t, float* to) { norm_row(c.x + t * n, c.scale, c.eps, n, to); });
}

template <Kind K>
void linear_add(int64_t threads, const int64_t* words) {
  const Call c = call_of(words, false);
  const int64_t n = c.weight.in;
  product_of_rows<K>(threads, c, true, [&](int64_t t, float* to) { std::copy(c.x + t * n, c.x + (t + 1) * n, to); });
}

template <Kind K>
void swiglu_linear_add(int64_t threads, const int64_t* words) {
  const Call c = call_of(words, false);
  const int64_t n = c.weight.in;
  product_of_rows<K>(threads, c, true, [&](int64_t t, float* to) { swiglu_row(c.x + 2 * t * n, n, to); });
}

}  // namespace

extern "C" {

void norm_linear_int4(int64_t threads, const int64_t* words) { norm_linear<kLevels>(threads, words); }
void norm_linear_int8(int64_t threads, const int64_t* words) { norm_linear<kSigned>(threads, words); }
void linear_add_int4(int64_t threads, const int64_t* words) { linear_add<kLevels>(threads, words); }
void linear_add_int8(int64_t threads, const int64_t* words) { linear_add<kSigned>(threads, words); }
void swiglu_linear_add_int4(int64_t threads, const int64_t* words) { swiglu_linear_add<kLevels>(threads, words); }
void swiglu_linear_add_int8(int64_t threads, const int64_t* words) { swiglu_linear_add<kSigned>(threads, words); }

}  // extern "C"
