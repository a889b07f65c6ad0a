// Weights in panels, the order in which a product reads them from end to end: of two vectors' worth of rows, column
// after column. A number of a token meets whole vectors of rows, and nothing has to be transposed, or added up across a
// vector. A panel in bf16 keeps the rows r and r + kLane of a column as one 32-bit word.
//
// Every sum of products runs from the first column to the last in one chain, however many tokens there are and however
// they are cut: a token's numbers do not depend on who shares the step.

#pragma once

#include "product.h"

constexpr int64_t kPanelRows = 2 * kLane;

// A weight [out, in] in panels of type W, the last filled up with zeros.
template <class W>
struct Panels {
  const W* numbers;
};

// out [tokens, out] = x weight^T, or += with `add`; x [tokens, in] in its natural order.
template <class W>
void panel_product(int64_t threads, float* out, const float* x, Panels<W> weight, bool add, const Shape& shape);

// Row `id` of the weight, its number in column i at at[i * kPanelRows].
template <class W>
INLINE const W* row_in_panels(Panels<W> weight, int64_t id, int64_t in) {
  const int64_t r = id % kPanelRows;
  const int64_t within = sizeof(W) == sizeof(float) ? r : r % kLane * 2 + r / kLane;
  return weight.numbers + id / kPanelRows * kPanelRows * in + within;
}
