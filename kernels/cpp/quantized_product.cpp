// A product with quantized weights: whole numbers times whole numbers, in groups, and every group's exact sum scaled.
//
// The tokens being whole numbers too costs the odds little (benchmarks.quantized measures how much), and makes the
// product a quarter of the work. A result does not depend on how many tokens came in together, to the last bit.

#include "pool.h"
#include "quantized.h"

namespace {

constexpr int64_t kGrain = 64 << 10;     // products that are worth handing to another thread
constexpr int64_t kWarm = 128 << 10;     // bytes of the weight that stay in a core's cache while the tokens pass
constexpr int kParts = kPanel / kRows;    // registers that sixteen rows take
constexpr int kSums = kRegister == 32 ? 4 : 8;  // registers for sums, of each of three kinds
constexpr int kMostTokens = kRegister == 64 ? 8 : 4;

// `whole` += the sums over one group of P registers of rows times T tokens.
template <Kind K, int P, int T>
INLINE void add_group(Ints (&whole)[P][T], const uint8_t* rows, const int8_t* x, int64_t stride,
                      int64_t columns) {
  constexpr int64_t kColumns = Layout<K>::kColumns;
  for (int64_t from = 0; from < columns;) {
    const int64_t end = std::min(columns, Sum<K>::kRun == INT64_MAX ? columns : from + 4 * Sum<K>::kRun);
    Sum<K> sum[P][T];
    for (; from < end; from += kColumns, x += kColumns, rows += 64) {
      UNROLL for (int p = 0; p < P; ++p) {
        const Quads weights = read<Quads>(rows + p * kRegister);
        if constexpr (K == kLevels) {
          const Quads low = weights & 0x0f0f0f0fu, high = (weights >> 4) & 0x0f0f0f0fu;
          UNROLL for (int t = 0; t < T; ++t) sum[p][t].add(low, repeat_quad(x + t * stride));
          UNROLL for (int t = 0; t < T; ++t) sum[p][t].add(high, repeat_quad(x + t * stride + 4));
        } else {
          UNROLL for (int t = 0; t < T; ++t) sum[p][t].add(weights, repeat_quad(x + t * stride));
        }
      }
    }
    UNROLL for (int p = 0; p < P; ++p) {
      UNROLL for (int t = 0; t < T; ++t) whole[p][t] += sum[p][t].whole();
    }
  }
}

// P registers of a panel's rows, from `part` on, times T tokens from t on: into out [tokens, out].
template <Kind K, int P, int T>
void tile(float* out, const Tokens& x, const Packed& w, bool add, int64_t panel, int64_t part, int64_t t) {
  const int64_t groups = w.groups(), filled = w.filled(), block = Layout<K>::block(w);
  const uint8_t* at = w.bytes + panel * Layout<K>::panel(w);
  const uint8_t* head = at + part * kRows * 4;
  at += Layout<K>::kHead;
  // A level stands for (level - 8) scale + zero, and the instruction may have moved the weights up.
  constexpr int32_t kMoved = Sum<K>::kOffset + (K == kLevels ? 8 : 0);
  Floats total[P][T] = {};
  for (int64_t g = 0; g < groups; ++g, at += block) {
    const int8_t* numbers = x.numbers + (t * groups + g) * filled;
    const float* scales = x.scales + t * groups + g;
    const int32_t* sums = x.sums + t * groups + g;
    Ints whole[P][T];
    UNROLL for (int i = 0; i < T; ++i) {
      UNROLL for (int p = 0; p < P; ++p) whole[p][i] = Ints{} - kMoved * sums[i * groups];
    }
    // With sixteen registers, these are better in memory than what the innermost loop needs.
    if constexpr (kRegister == 32 && T > 1) asm volatile("" : "+m"(total));
    add_group<K>(whole, at + Layout<K>::kBlockHead + part * kRegister, numbers, groups * filled, filled);
    UNROLL for (int p = 0; p < P; ++p) {
      UNROLL for (int i = 0; i < T; ++i) {
        const Floats product = __builtin_convertvector(whole[p][i], Floats);
        if constexpr (K == kLevels) {
          const uint8_t* row = at + (part + p) * kRows * 2;
          total[p][i] += product * (read_bf16(row) * scales[i * groups]);
          total[p][i] += read_bf16(row + 32) * (scales[i * groups] * static_cast<float>(sums[i * groups]));
        } else {
          total[p][i] += product * scales[i * groups];
        }
      }
    }
  }
  UNROLL for (int p = 0; p < P; ++p) {
    const int64_t row = panel * kPanel + (part + p) * kRows;
    const size_t bytes = std::clamp<int64_t>(w.out - row, 0, kRows) * sizeof(float);
    UNROLL for (int i = 0; i < T; ++i) {
      float* to = out + (t + i) * w.out + row;
      Floats y = {};
      if (add) std::memcpy(&y, to, bytes);
      if constexpr (K == kSigned) y += total[p][i] * read<Floats>(head + p * kRegister);
      else y += total[p][i];
      std::memcpy(to, &y, bytes);
    }
  }
}

// All rows of a panel times T tokens, with as many registers of rows at a time as there are registers for.
template <Kind K, int T>
void panel_tile(float* out, const Tokens& x, const Packed& w, bool add, int64_t panel, int64_t t) {
  constexpr int P = std::min(kParts, kSums / T);
  for (int64_t part = 0; part < kParts; part += P) tile<K, P, T>(out, x, w, add, panel, part, t);
}

}  // namespace

template <Kind K>
void quantized_product(int64_t threads, float* out, const Tokens& x, const Packed& w, bool add, int64_t tokens) {
  const int64_t grain = std::max<int64_t>(1, kGrain / (kPanel * w.in * tokens));
  const int64_t warm = std::max<int64_t>(1, kWarm / Layout<K>::panel(w));
  parallel(threads, w.panels(), grain, [&](int64_t first, int64_t end) {
    for (; first < end; first += warm) {
      const int64_t last = std::min(end, first + warm);
      const auto each = [&](auto count, int64_t t) {
        for (int64_t panel = first; panel < last; ++panel) panel_tile<K, count()>(out, x, w, add, panel, t);
      };
      int64_t t = 0;
      for (; t + kMostTokens <= tokens; t += kMostTokens) each(std::integral_constant<int, kMostTokens>{}, t);
      if (t + 4 <= tokens) each(std::integral_constant<int, 4>{}, t), t += 4;
      if (t + 2 <= tokens) each(std::integral_constant<int, 2>{}, t), t += 2;
      if (t < tokens) each(std::integral_constant<int, 1>{}, t);
    }
  });
}

template void quantized_product<kLevels>(int64_t, float*, const Tokens&, const Packed&, bool, int64_t);
template void quantized_product<kSigned>(int64_t, float*, const Tokens&, const Packed&, bool, int64_t);
