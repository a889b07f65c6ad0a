// A product for many tokens: limited by arithmetic, not by memory.
//
// Two vectors' worth of rows of the weight at a time are widened and transposed into a panel that stays in the cache.
// Then a number of a token meets whole vectors of rows, and nothing has to be added up across a vector.

#include <array>

#include "pool.h"
#include "product.h"
#include "scratch.h"

namespace {

constexpr int64_t kPanel = 2 * kLane;  // rows of the weight in a panel
constexpr int64_t kDepth = 512;        // columns of the weight in a panel: 64 KiB of it, or half of that
// Tokens at a time, at most: with two vectors each, the sums fill the registers or half of them.
constexpr int kTokens = kRegisters >= 32 ? 8 : 6;

// What words hold, into one row of a panel or two.
INLINE void store_word(float* to, Lane words, const float*) { store(to, words); }
INLINE void store_word(float* to, Lane words, const bf16*) {
  store(to, (Lane)((Bits)words << 16));
  store(to + kPanel, (Lane)((Bits)words & 0xffff0000u));
}

// panel [depth][kPanel] = weight[row : row + kPanel, from : from + depth] transposed; rows beyond the last are copies
// of it.
template <class W>
void fill_panel(float* panel, const W* weight, int64_t row, int64_t from, int64_t depth, const Shape& s) {
  // A pair of bf16 is one word, and words are transposed alike.
  constexpr int64_t numbers = sizeof(float) / sizeof(W);
  for (int64_t half = 0; half < kPanel; half += kLane) {
    const W* rows[kLane];
    for (int64_t r = 0; r < kLane; ++r) rows[r] = weight + std::min(row + half + r, s.out - 1) * s.in + from;
    float* to = panel + half;
    int64_t i = 0;
    for (; i + numbers * kLane <= depth; i += numbers * kLane) {
      Lane words[kLane];
      UNROLL for (int64_t r = 0; r < kLane; ++r) std::memcpy(words + r, rows[r] + i, sizeof(Lane));
      transpose(words);
      UNROLL for (int64_t j = 0; j < kLane; ++j) store_word(to + (i + numbers * j) * kPanel, words[j], rows[0]);
    }
    for (; i < depth; ++i) {
      for (int64_t r = 0; r < kLane; ++r) to[i * kPanel + r] = wide(rows[r][i]);
    }
  }
}

// Two vectors of sums into out, or onto it.
INLINE void put(float* out, const Lane (&total)[2], bool add) {
  store(out, add ? load(out) + total[0] : total[0]);
  store(out + kLane, add ? load(out + kLane) + total[1] : total[1]);
}

// T tokens' numbers [from, from + depth) times the panel, into kPanel columns of out (the first `width` exist).
template <int T>
void tile(float* out, const float* x, const float* panel, bool add, int64_t depth, int64_t width, const Shape& s) {
  Lane total[T][2] = {};
  for (int64_t i = 0; i < depth; ++i) {
    Lane first = load(panel + i * kPanel), second = load(panel + i * kPanel + kLane);
    HOLD(first);
    HOLD(second);
    UNROLL for (int t = 0; t < T; ++t) {
      const float number = x[t * s.in + i];
      total[t][0] += number * first;
      total[t][1] += number * second;
    }
  }
  if (width == kPanel) {
    UNROLL for (int t = 0; t < T; ++t) put(out + t * s.out, total[t], add);
  } else {
    float whole[T][kPanel];
    std::memcpy(whole, total, sizeof whole);
    for (int t = 0; t < T; ++t) {
      for (int64_t j = 0; j < width; ++j) out[t * s.out + j] = whole[t][j] + (add ? out[t * s.out + j] : 0.0f);
    }
  }
}

using Tile = void (*)(float*, const float*, const float*, bool, int64_t, int64_t, const Shape&);

template <int... T>
constexpr std::array<Tile, sizeof...(T)> tiles_of(std::integer_sequence<int, T...>) {
  return {tile<T + 1>...};
}
// For 1, 2, ... tokens.
constexpr auto kTiles = tiles_of(std::make_integer_sequence<int, kTokens>{});

}  // namespace

template <class W>
void many_tokens(int64_t threads, float* out, const float* x, const W* weight, bool add, const Shape& s) {
  parallel(threads, (s.out + kPanel - 1) / kPanel, 1, [&](int64_t first, int64_t end) {
    static thread_local Scratch kept;
    float* panel = kept.of(kPanel * kDepth);
    for (int64_t row = first * kPanel; row < end * kPanel; row += kPanel) {
      const int64_t width = std::min(kPanel, s.out - row);
      for (int64_t from = 0; from < s.in; from += kDepth) {
        const int64_t depth = std::min(kDepth, s.in - from);
        const bool onto = add || from > 0;
        fill_panel(panel, weight, row, from, depth, s);
        if (from == 0 && row + kPanel < s.out) {
          fetch_ahead(weight + (row + kPanel) * s.in, std::min(kPanel, s.out - row - kPanel) * s.in);
        }
        // In tiles as equal as can be: those of few tokens wait for their sums.
        for (int64_t t = 0, tiles = (s.tokens + kTokens - 1) / kTokens; tiles > 0; --tiles) {
          const int64_t n = (s.tokens - t + tiles - 1) / tiles;
          kTiles[n - 1](out + t * s.out + row, x + t * s.in + from, panel, onto, depth, width, s);
          t += n;
        }
      }
    }
  });
}

template void many_tokens<float>(int64_t, float*, const float*, const float*, bool, const Shape&);
template void many_tokens<bf16>(int64_t, float*, const float*, const bf16*, bool, const Shape&);
