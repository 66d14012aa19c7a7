// The axes of an op's tensors that are one dim, and tensors whose slices along an axis are
// exchanged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// The axes that have the size of one dim. A tensor may have it twice.
struct SharedAxes {
  std::string dim;  ///< As the shapes write it.
  std::map<std::string, std::vector<size_t>> inputs, outputs;
};

/// The axes of the dim that the spec names, else of the one at its `axis` of `anchor`.
SharedAxes axes_of(const OpConfig& op, const InvariantSpec& spec, const TensorSpec& anchor,
                   int64_t default_axis);
/// All axes whose size is written `text`.
SharedAxes axes_written(const OpConfig& op, const std::string& text);

/// Slice i of the result is slice from[i] along the axis; -1: every element is `fill`.
Tensor take_slices(const Tensor& tensor, size_t axis, const std::vector<int64_t>& from,
                   double fill = 0);
/// `tensor` with the slices of `other` where `mine` is false. REQUIRES: equal shapes and dtypes.
Tensor mix_slices(const Tensor& tensor, const Tensor& other, size_t axis,
                  const std::vector<bool>& mine);
/// For each element, which slice along the axis it belongs to.
std::vector<int64_t> slice_numbers(const Shape& shape, size_t axis);

}  // namespace gpuemu
