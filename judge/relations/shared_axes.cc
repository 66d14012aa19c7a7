#include "judge/relations/shared_axes.h"

#include <algorithm>
#include <cstring>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

/// A tensor as outer x count x inner around one axis; inner in bytes.
struct Slices {
  size_t outer = 1, count = 0, inner_bytes = 0;
};

Slices slices_of(DType dtype, const Shape& shape, size_t axis) {
  Slices slices;
  slices.count = static_cast<size_t>(shape[axis]);
  slices.inner_bytes = byte_size(dtype);
  for (size_t i = 0; i < axis; ++i) slices.outer *= static_cast<size_t>(shape[i]);
  for (size_t i = axis + 1; i < shape.size(); ++i) {
    slices.inner_bytes *= static_cast<size_t>(shape[i]);
  }
  return slices;
}

void collect(const std::vector<TensorSpec>& tensors, const std::string& text,
             std::map<std::string, std::vector<size_t>>& axes) {
  for (const TensorSpec& tensor : tensors) {
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      if (tensor.shape[axis].text() == text) axes[tensor.name].push_back(axis);
    }
  }
}

}  // namespace

SharedAxes axes_written(const OpConfig& op, const std::string& text) {
  SharedAxes axes;
  axes.dim = text;
  collect(op.inputs, text, axes.inputs);
  collect(op.outputs, text, axes.outputs);
  return axes;
}

SharedAxes axes_of(const OpConfig& op, const InvariantSpec& spec, const TensorSpec& anchor,
                   int64_t default_axis) {
  const auto dim = spec.strings.find("dim");
  if (dim != spec.strings.end()) return axes_written(op, dim->second);
  const auto given = spec.numbers.find("axis");
  const auto rank = static_cast<int64_t>(anchor.shape.size());
  int64_t axis = given == spec.numbers.end() ? default_axis : static_cast<int64_t>(given->second);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  return axes_written(op, anchor.shape[static_cast<size_t>(axis)].text());
}

Tensor take_slices(const Tensor& tensor, size_t axis, const std::vector<int64_t>& from,
                   double fill) {
  const Slices slices = slices_of(tensor.dtype, tensor.shape, axis);
  Shape shape = tensor.shape;
  shape[axis] = static_cast<int64_t>(from.size());
  Tensor taken = make_tensor(tensor.dtype, shape);
  const size_t size = byte_size(tensor.dtype);
  std::byte* to = taken.data.data();
  for (size_t outer = 0; outer < slices.outer; ++outer) {
    for (const int64_t slice : from) {
      if (slice < 0) {
        for (size_t at = 0; at < slices.inner_bytes; at += size) {
          write_from_double(tensor.dtype, fill, to + at);
        }
      } else if (slices.inner_bytes > 0) {
        const size_t at = (outer * slices.count + static_cast<size_t>(slice)) * slices.inner_bytes;
        std::memcpy(to, tensor.data.data() + at, slices.inner_bytes);
      }
      to += slices.inner_bytes;
    }
  }
  return taken;
}

Tensor mix_slices(const Tensor& tensor, const Tensor& other, size_t axis,
                  const std::vector<bool>& mine) {
  const Slices slices = slices_of(tensor.dtype, tensor.shape, axis);
  Tensor mixed = tensor;
  for (size_t i = 0; i < slices.outer * slices.count; ++i) {
    if (mine[i % slices.count] || slices.inner_bytes == 0) continue;
    const size_t at = i * slices.inner_bytes;
    std::memcpy(mixed.data.data() + at, other.data.data() + at, slices.inner_bytes);
  }
  return mixed;
}

std::vector<int64_t> slice_numbers(const Shape& shape, size_t axis) {
  const Slices slices = slices_of(DType::UInt8, shape, axis);
  std::vector<int64_t> numbers(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int64_t>(i / slices.inner_bytes % slices.count);
  }
  return numbers;
}

}  // namespace gpuemu
