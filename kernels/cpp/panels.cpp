// Products with a weight in panels, tile after tile of tokens and panels whose sums fill the registers.

#include "panels.h"

#include <array>

#include "pool.h"

namespace {

constexpr int64_t kGrain = 16 << 10;                // products that are worth handing to another thread
constexpr int64_t kDepth = 512;                     // columns of a panel that stay near while many tokens pass by
constexpr int kTokens = kRegisters >= 32 ? 12 : 6;  // of a tile, at most: two vectors of sums each

// Panels that a tile of so many tokens takes at once: sums enough that none waits for the one before it.
constexpr int panels_for(int tokens) {
  constexpr int room = kRegisters >= 32 ? 2 : 1;
  return tokens == 1 ? 4 : std::max(1, room * 4 / tokens);
}

// A token's sums into out, or out into its sums; of the rows, `width` exist.
template <int Vectors>
INLINE void put(float* out, const Lane (&total)[Vectors], int64_t width) {
  if (width >= Vectors * kLane) {
    UNROLL for (int j = 0; j < Vectors; ++j) store(out + j * kLane, total[j]);
  } else {
    std::memcpy(out, total, width * sizeof(float));
  }
}
template <int Vectors>
INLINE void take(Lane (&total)[Vectors], const float* out, int64_t width) {
  if (width >= Vectors * kLane) {
    UNROLL for (int j = 0; j < Vectors; ++j) total[j] = load(out + j * kLane);
  } else {
    float whole[Vectors * kLane] = {};
    std::memcpy(whole, out, width * sizeof(float));
    UNROLL for (int j = 0; j < Vectors; ++j) total[j] = load(whole + j * kLane);
  }
}

// T tokens' columns [0, depth) with P panels, which lie `stride` apart, into out or onto it.
template <int T, int P, class W>
void tile(float* out, const float* x, const W* panels, int64_t stride, bool add, int64_t depth, int64_t width,
          const Shape& s) {
  Lane total[T][2 * P] = {};
  if (add) {
    for (int t = 0; t < T; ++t) take(total[t], out + t * s.out, width);
  }
  for (int64_t i = 0; i < depth; ++i) {
    UNROLL for (int p = 0; p < P; ++p) {
      Lane first = load_half(panels + p * stride + i * kPanelRows, 0);
      Lane second = load_half(panels + p * stride + i * kPanelRows, 1);
      HOLD(first);
      HOLD(second);
      UNROLL for (int t = 0; t < T; ++t) {
        const float number = x[t * s.in + i];
        total[t][2 * p] += number * first;
        total[t][2 * p + 1] += number * second;
      }
    }
  }
  for (int t = 0; t < T; ++t) put(out + t * s.out, total[t], width);
}

// What one tile after the other has in common: the panels [first, end), the columns [from, from + depth).
struct Piece {
  int64_t first, end, from, depth;
  bool add;
};

// T tokens with the piece's panels, some at a time.
template <int T, class W>
void tokens(float* out, const float* x, Panels<W> weight, const Piece& piece, const Shape& s) {
  constexpr int together = panels_for(T);
  const int64_t stride = s.in * kPanelRows;
  const auto with = [&](int64_t p, auto run) {
    const int64_t row = p * kPanelRows;
    run(out + row, x + piece.from, weight.numbers + p * stride + piece.from * kPanelRows, stride, piece.add,
        piece.depth, s.out - row, s);
  };
  int64_t p = piece.first;
  for (; p + together <= piece.end; p += together) with(p, tile<T, together, W>);
  for (; p < piece.end; ++p) with(p, tile<T, 1, W>);
}

template <class W>
using Tokens = void (*)(float*, const float*, Panels<W>, const Piece&, const Shape&);

template <class W, int... T>
constexpr std::array<Tokens<W>, sizeof...(T)> for_tokens(std::integer_sequence<int, T...>) {
  return {tokens<T + 1, W>...};
}

}  // namespace

template <class W>
void panel_product(int64_t threads, float* out, const float* x, Panels<W> weight, bool add, const Shape& s) {
  // For 1, 2, ... tokens.
  static constexpr auto kTiles = for_tokens<W>(std::make_integer_sequence<int, kTokens>{});
  const int64_t panels = (s.out + kPanelRows - 1) / kPanelRows, tiles = (s.tokens + kTokens - 1) / kTokens;
  const int64_t together = tiles == 1 ? panels_for(static_cast<int>(s.tokens)) : 1;
  const int64_t grain = std::max<int64_t>(1, kGrain / (together * kPanelRows * s.in * s.tokens));
  const int64_t depth = tiles > 2 ? kDepth : s.in;
  parallel(threads, (panels + together - 1) / together, grain, [&](int64_t first, int64_t end) {
    for (int64_t p = first * together; p < std::min(panels, end * together); p += together) {
      for (int64_t from = 0; from < s.in; from += depth) {
        const Piece piece{p, std::min(panels, p + together), from, std::min(depth, s.in - from), add || from > 0};
        // In tiles as equal as can be: those of few tokens wait for their sums.
        for (int64_t t = 0, left = tiles; left > 0; --left) {
          const int64_t n = (s.tokens - t + left - 1) / left;
          kTiles[n - 1](out + t * s.out, x + t * s.in, weight, piece, s);
          t += n;
        }
      }
    }
  });
}

template void panel_product<float>(int64_t, float*, const float*, Panels<float>, bool, const Shape&);
template void panel_product<bf16>(int64_t, float*, const float*, Panels<bf16>, bool, const Shape&);
