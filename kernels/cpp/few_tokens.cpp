// A product for a few tokens: every weight is read once and used at once, so it runs at the speed of memory if
// widening bf16 costs little. Activations stay float32.

#include "pool.h"
#include "product.h"
#include "scratch.h"

namespace {

// Rows of the weight that are handed out together: a multiple of every tile's.
constexpr int64_t kBlock = 24;
constexpr int64_t kGrain = 16 << 10;  // products that are worth handing to another thread
constexpr int64_t kDepth = 512;       // columns of the weight that are widened at a time
// Rows of a tile of four tokens: as many sums at once as there are registers for.
constexpr int kRows = kRegisters >= 32 ? 4 : 2;
// Tokens from which on it pays to widen a piece of the weight before using it.
constexpr int64_t kWiden = 4;

// Numbers [0, depth) of R rows of the weight for C tokens. Rows beyond the last of the weight are copies of it.
template <int R, int C, class W>
void tile(const W* weight, int64_t stride, const float* x, float* out, bool add, int64_t depth, int64_t n_rows,
          const Shape& s) {
  const W* rows[R];
  const float* cols[C];
  for (int r = 0; r < R; ++r) rows[r] = weight + std::min<int64_t>(r, n_rows - 1) * stride;
  for (int c = 0; c < C; ++c) cols[c] = x + c * s.in;
  float y[R * C];
  store_dots<R, C>(y, rows, cols, depth);
  const int64_t last = std::min<int64_t>(R, n_rows);
  for (int c = 0; c < C; ++c) {
    for (int64_t r = 0; r < last; ++r) {
      float& to = out[c * s.out + r];
      to = add ? to + y[r * C + c] : y[r * C + c];
    }
  }
}

template <int R, int C, class W>
void tiles(const W* weight, int64_t stride, const float* x, float* out, bool add, int64_t depth, int64_t n_rows,
           const Shape& s) {
  for (int64_t r = 0; r < n_rows; r += R) {
    tile<R, C>(weight + r * stride, stride, x, out + r, add, depth, n_rows - r, s);
  }
}

// The same for all tokens and up to kBlock rows.
template <class W>
void block(const W* weight, int64_t stride, const float* x, float* out, bool add, int64_t depth, int64_t n_rows,
           const Shape& s) {
  int64_t t = 0;
  for (; t + 4 <= s.tokens; t += 4) {
    tiles<kRows, 4>(weight, stride, x + t * s.in, out + t * s.out, add, depth, n_rows, s);
  }
  for (; t + 2 <= s.tokens; t += 2) {
    tiles<4, 2>(weight, stride, x + t * s.in, out + t * s.out, add, depth, n_rows, s);
  }
  if (t < s.tokens) tiles<8, 1>(weight, stride, x + t * s.in, out + t * s.out, add, depth, n_rows, s);
}

// Numbers of a row of the weight as floats, in the order in which `dots` meets them.
template <class W>
void widen(const W* from, float* to, int64_t n) {
  const int64_t whole = n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
    store(to + i, load_half(from + i, 0)), store(to + i + kLane, load_half(from + i, 1));
  }
  for (int64_t i = whole; i < n; ++i) to[i] = wide(from[i]);
}

}  // namespace

template <class W>
void few_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& s) {
  const int64_t blocks = (s.out + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kBlock * s.in * s.tokens));
  parallel(threads, blocks, grain, [&](int64_t first, int64_t end) {
    static thread_local Scratch kept;
    float* wider = kept.of(kBlock * kDepth);
    for (int64_t row = first * kBlock; row < std::min(s.out, end * kBlock); row += kBlock) {
      const int64_t n_rows = std::min(kBlock, s.out - row);
      const W* rows = weight + row * s.in;
      if (s.tokens < kWiden || sizeof(W) == sizeof(float)) {
        block(rows, s.in, x, out + row, add, s.in, n_rows, s);
        continue;
      }
      for (int64_t from = 0; from < s.in; from += kDepth) {
        const int64_t depth = std::min(kDepth, s.in - from);
        for (int64_t r = 0; r < n_rows; ++r) widen(rows + r * s.in + from, wider + r * kDepth, depth);
        block(wider, kDepth, x + from, out + row, add || from > 0, depth, n_rows, s);
      }
    }
  });
}

template void few_tokens<float>(int64_t, float*, const float*, const float*, bool, const Shape&);
template void few_tokens<bf16>(int64_t, float*, const float*, const bf16*, bool, const Shape&);
