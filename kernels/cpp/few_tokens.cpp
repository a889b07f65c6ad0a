// A product for a few tokens: every weight is read once and used at once, so it runs at the speed of memory if
// widening bf16 costs little. Activations stay float32.

#include "pool.h"
#include "product.h"

namespace {

constexpr int64_t kBlock = 8;                        // rows of the weight that are handed out together
constexpr int kPairRows = kRegisters >= 32 ? 8 : 4;  // of a tile of two tokens: as many sums as there is room for
constexpr int64_t kGrain = 16 << 10;                 // products that are worth handing to another thread

// R rows of the weight for C tokens: as many sums at once as there are registers for.
template <int R, int C, class W>
void tile(const W* weight, const float* x, float* out, bool add, int64_t row, const Shape& s) {
  const W* rows[R];
  const float* cols[C];
  for (int r = 0; r < R; ++r) rows[r] = weight + std::min(row + r, s.out - 1) * s.in;
  for (int c = 0; c < C; ++c) cols[c] = x + c * s.in;
  float y[R * C];
  store_dots<R, C>(y, rows, cols, s.in);
  const int64_t last = std::min<int64_t>(R, s.out - row);
  for (int c = 0; c < C; ++c) {
    for (int64_t r = 0; r < last; ++r) {
      float& to = out[c * s.out + row + r];
      to = add ? to + y[r * C + c] : y[r * C + c];
    }
  }
}

}  // namespace

template <class W>
void few_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& s) {
  const int64_t blocks = (s.out + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kBlock * s.in * s.tokens));
  parallel(threads, blocks, grain, [&](int64_t first, int64_t end) {
    for (int64_t row = first * kBlock; row < std::min(s.out, end * kBlock); row += kBlock) {
      const int64_t next = row + kBlock;
      if (next < s.out) fetch_ahead(weight + next * s.in, std::min(kBlock, s.out - next) * s.in);
      // Four tokens at a time, so that a widened weight is used four times.
      int64_t t = 0;
      for (; t + 4 <= s.tokens; t += 4) {
        tile<4, 4>(weight, x + t * s.in, out + t * s.out, add, row, s);
        if (row + 4 < s.out) tile<4, 4>(weight, x + t * s.in, out + t * s.out, add, row + 4, s);
      }
      for (; t + 2 <= s.tokens; t += 2) {
        for (int64_t r = row; r < std::min(s.out, row + kBlock); r += kPairRows) {
          tile<kPairRows, 2>(weight, x + t * s.in, out + t * s.out, add, r, s);
        }
      }
      if (t < s.tokens) tile<8, 1>(weight, x + t * s.in, out + t * s.out, add, row, s);
    }
  });
}

template void few_tokens<float>(int64_t, float*, const float*, const float*, bool, const Shape&);
template void few_tokens<bf16>(int64_t, float*, const float*, const bf16*, bool, const Shape&);
