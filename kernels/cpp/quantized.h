// Matrices of whole numbers of 4 or 8 bits as kernels/quantized.py packs them, and tokens in whole numbers to meet them.

#pragma once

#include "bytes.h"
#include "scratch.h"

constexpr int64_t kPanel = 16;  // rows

// A matrix [out, in] in panels of sixteen rows, each panel one stretch of memory that is read from end to end. A panel
// has a block for every group of columns; a group is filled up with zeros to a multiple of eight columns.
//
//   levels of 4 bits  every block: 16 scales and 16 zeros in bf16, then 64 bytes for 8 columns: of each row four bytes,
//                     with the first four columns in the low halves, the others in the high ones
//   numbers of 8 bits the panel: 16 scales in float32; every block: 64 bytes for 4 columns, of each row four bytes
struct Packed {
  const uint8_t* bytes;
  int64_t in, out, group;

  int64_t groups() const { return (in + group - 1) / group; }
  int64_t filled() const { return (group + 7) / 8 * 8; }
  int64_t panels() const { return (out + kPanel - 1) / kPanel; }
};

template <Kind K>
struct Layout {
  static constexpr int64_t kHead = K == kLevels ? 0 : 64;       // bytes of a panel before its blocks
  static constexpr int64_t kBlockHead = K == kLevels ? 64 : 0;  // bytes of a block before its numbers
  static constexpr int64_t kColumns = K == kLevels ? 8 : 4;     // in 64 bytes
  static int64_t block(const Packed& w) { return kBlockHead + w.filled() / kColumns * 64; }
  static int64_t panel(const Packed& w) { return kHead + w.groups() * block(w); }
};

// Tokens in whole numbers -127 ... 127, with a scale for each group of a token, and the sum of its numbers.
struct Tokens {
  int8_t* numbers;  // [tokens, groups, filled]
  float* scales;    // [tokens, groups]
  int32_t* sums;    // [tokens, groups]
};

// The tokens' room in `kept`.
Tokens tokens_in(Scratch& kept, int64_t tokens, const Packed& w);

// Token t of the tokens, from its `in` numbers x.
void quantize_token(const float* x, int64_t t, const Tokens& tokens, const Packed& w);

// out [tokens, out] = tokens w^T, or += with `add`.
template <Kind K>
void quantized_product(int64_t threads, float* out, const Tokens& x, const Packed& w, bool add, int64_t tokens);
