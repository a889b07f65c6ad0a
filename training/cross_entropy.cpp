// Softmax cross-entropy over rows of logits and its gradient, in one visit to each row while it is in the first-level cache.

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <vector>

#define FLOAT_OR_BFLOAT16(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(at::kFloat, __VA_ARGS__) AT_DISPATCH_CASE(at::kBFloat16, __VA_ARGS__))

namespace {

// Replaces one row of logits by softmax(row) - onehot(target) and returns -log softmax(row)[target].
template <typename Scalar>
float one_row(Scalar* __restrict row, float* __restrict odds, int64_t size, int64_t target) {
  float largest = -INFINITY, total = 0;
  for (int64_t i = 0; i < size; ++i) {
    odds[i] = static_cast<float>(row[i]);
    largest = std::max(largest, odds[i]);
  }
  const float logit = odds[target];
  for (int64_t i = 0; i < size; ++i) {
    odds[i] = std::exp(odds[i] - largest);
    total += odds[i];
  }
  odds[target] -= total;
  const float inverse = 1.0f / total;
  for (int64_t i = 0; i < size; ++i) row[i] = static_cast<Scalar>(odds[i] * inverse);
  return std::log(total) + largest - logit;
}

}  // namespace

// Turns logits [N, V] into the gradient of the summed loss, in place; returns the losses [N], float32.
at::Tensor forward_backward_(at::Tensor logits, at::Tensor targets) {
  TORCH_CHECK(logits.is_contiguous() && logits.dim() == 2, "logits is a contiguous tensor [N, V]");
  TORCH_CHECK(targets.numel() == logits.size(0) && targets.scalar_type() == at::kLong, "targets is an int64 tensor [N]");
  const int64_t size = logits.size(1);
  const at::Tensor wanted = targets.contiguous();
  TORCH_CHECK(wanted.min().item<int64_t>() >= 0 && wanted.max().item<int64_t>() < size, "a target is not in the vocabulary");
  at::Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
  const int64_t* target = wanted.const_data_ptr<int64_t>();
  float* loss = losses.data_ptr<float>();
  FLOAT_OR_BFLOAT16(logits.scalar_type(), "cross_entropy", [&] {
    scalar_t* rows = logits.data_ptr<scalar_t>();
    at::parallel_for(0, logits.size(0), 16, [&](int64_t begin, int64_t end) {
      std::vector<float> odds(size);
      for (int64_t i = begin; i < end; ++i) loss[i] = one_row(rows + i * size, odds.data(), size, target[i]);
    });
  });
  return losses;
}

TORCH_LIBRARY(training_cross_entropy, library) {
  library.def("forward_backward_(Tensor(a!) logits, Tensor targets) -> Tensor", &forward_backward_);
}
