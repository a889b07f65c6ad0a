// Rows of a table for the ids of tokens, as floats (reference.embedding).

#include "panels.h"
#include "pool.h"
#include "quantized.h"
#include "words.h"

namespace {

// Row `id` of a packed table. It lies scattered over its panel: four bytes in every 64.
template <Kind K>
void packed_row(const Packed& w, int64_t id, float* to) {
  using In = Layout<K>;
  const int64_t r = id % kPanel;
  const uint8_t* at = w.bytes + id / kPanel * In::panel(w);
  const float scale_of_row = K == kSigned ? read<float>(at + 4 * r) : 0.0f;
  at += In::kHead;
  for (int64_t from = 0; from < w.in; from += w.group, at += In::block(w)) {
    const float scale = K == kLevels ? wide(read<bf16>(at + 2 * r)) : scale_of_row;
    const float zero = K == kLevels ? wide(read<bf16>(at + 32 + 2 * r)) : 0.0f;
    const uint8_t* numbers = at + In::kBlockHead + 4 * r;
    for (int64_t c = 0; c < std::min(w.group, w.in - from); ++c) {
      const uint8_t byte = numbers[c / In::kColumns * 64 + c % 4];
      const int number = K == kSigned ? static_cast<int8_t>(byte) : (byte >> (c % 8 / 4 * 4) & 15) - 8;
      to[from + c] = static_cast<float>(number) * scale + zero;
    }
  }
}

// For every token, row(id, to).
template <class Row>
void rows(int64_t threads, float* out, const int64_t* ids, int64_t tokens, int64_t width, const Row& row) {
  parallel(threads, tokens, std::max<int64_t>(1, 16384 / width), [&](int64_t first, int64_t end) {
    for (int64_t t = first; t < end; ++t) row(ids[t], out + t * width);
  });
}

template <class W>
void embedding(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const int64_t* ids = w.address<int64_t>();
  const W* table = w.address<W>();
  const int64_t tokens = w.whole(), width = w.whole();
  rows(threads, out, ids, tokens, width, [&](int64_t id, float* to) {
    for (int64_t j = 0; j < width; ++j) to[j] = wide(table[id * width + j]);
  });
}

template <class W>
void embedding_panels(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const int64_t* ids = w.address<int64_t>();
  const Panels<W> table{w.address<const W>()};
  const int64_t tokens = w.whole(), width = w.whole();
  rows(threads, out, ids, tokens, width, [&](int64_t id, float* to) {
    const W* at = row_in_panels(table, id, width);
    for (int64_t j = 0; j < width; ++j) to[j] = wide(at[j * kPanelRows]);
  });
}

template <Kind K>
void embedding_packed(int64_t threads, const int64_t* words) {
  Words w(words);
  float* out = w.address<float>();
  const int64_t* ids = w.address<int64_t>();
  Packed table;
  table.bytes = w.address<uint8_t>();
  const int64_t tokens = w.whole();
  table.in = w.whole(), table.out = w.whole(), table.group = w.whole();
  rows(threads, out, ids, tokens, table.in, [&](int64_t id, float* to) { packed_row<K>(table, id, to); });
}

}  // namespace

extern "C" {

void embedding_f32(int64_t threads, const int64_t* words) { embedding<float>(threads, words); }
void embedding_bf16(int64_t threads, const int64_t* words) { embedding<bf16>(threads, words); }
void embedding_panels_f32(int64_t threads, const int64_t* words) { embedding_panels<float>(threads, words); }
void embedding_panels_bf16(int64_t threads, const int64_t* words) { embedding_panels<bf16>(threads, words); }
void embedding_int4(int64_t threads, const int64_t* words) { embedding_packed<kLevels>(threads, words); }
void embedding_int8(int64_t threads, const int64_t* words) { embedding_packed<kSigned>(threads, words); }

}  // extern "C"
