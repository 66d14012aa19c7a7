// Finds the axes of an op's tensors that are the same dim, and exchanges slices along an axis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/op_config.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// The axes with the size of one dim. A tensor may have it twice.
struct SharedAxes {
  std::string dim;  ///< As written in the shapes.
  std::map<std::string, std::vector<size_t>> inputs, outputs;
};

/// Returns the axes of the dim that the spec names, else of the dim at its `axis` of `anchor`.
SharedAxes axes_of(const OpConfig& op, const InvariantSpec& spec, const TensorSpec& anchor,
                   int64_t default_axis);
/// Returns all axes whose size is written as `text`.
SharedAxes axes_written(const OpConfig& op, const std::string& text);

/// Returns a tensor whose slice i is slice from[i] along the axis; -1: filled with `fill`.
Tensor take_slices(const Tensor& tensor, size_t axis, const std::vector<int64_t>& from,
                   double fill = 0);
/// Returns `tensor` with the slices of `other` where `mine` is false. Requires equal shapes and
/// dtypes.
Tensor mix_slices(const Tensor& tensor, const Tensor& other, size_t axis,
                  const std::vector<bool>& mine);
/// Returns for each element the index of its slice along the axis.
std::vector<int64_t> slice_numbers(const Shape& shape, size_t axis);

}  // namespace gpuemu
