// Shapes, strides and tensors. A Tensor owns packed row-major bytes; a Layout describes how the
// same elements are arranged in a device buffer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

using Shape = std::vector<int64_t>;    ///< Sizes, each >= 0; [] is a scalar.
using Strides = std::vector<int64_t>;  ///< In elements, one per dimension.

/// Returns the product of the sizes (1 for a scalar). InvalidArgument if a size is negative, the
/// rank exceeds kRankMax, or the product overflows or exceeds kTensorBytesMax elements.
Result<int64_t> checked_element_count(const Shape& shape);
/// Returns the product of the sizes. Requires that checked_element_count(shape) succeeded.
int64_t element_count(const Shape& shape);
/// Returns the bytes of the packed elements. Requires that checked_element_count(shape) succeeded.
uint64_t packed_bytes(DType dtype, const Shape& shape);
Strides row_major_strides(const Shape& shape);
std::string to_string(const Shape& shape);  ///< "[2, 3]"
/// Returns the class of a tensor for which one measurement stands: its sizes rounded up to powers
/// of two, "[2, 4]", and whether it is contiguous.
std::string size_class(std::span<const int64_t> shape, bool contiguous);

/// Owns packed, row-major, little-endian elements. A value type; copies are deep.
struct Tensor {
  DType dtype = DType::Float32;
  Shape shape;
  std::vector<std::byte> data;  ///< element_count(shape) * byte_size(dtype) bytes.

  int64_t count() const { return element_count(shape); }
  bool operator==(const Tensor&) const = default;
};

/// Returns a tensor of zeros. Requires that checked_element_count(shape) succeeded.
Tensor make_tensor(DType dtype, Shape shape);

// Ordered, so that equal inputs have equal bytes.
using NamedTensors = std::map<std::string, Tensor>;

/// How the elements of a tensor are arranged in its device buffer.
struct Layout {
  Strides strides;              ///< In elements; may be padded, transposed, 0 or negative.
  int64_t offset_elements = 0;  ///< Position of element 0 in the buffer.
  int64_t buffer_elements = 0;  ///< Size of the buffer.
  bool operator==(const Layout&) const = default;
};

Layout contiguous_layout(const Shape& shape);
/// Adds `pad` unused elements after each row (last dimension).
Layout padded_layout(const Shape& shape, int64_t pad);
/// Puts neighbours along the last dimension `step` elements apart. Requires step >= 1.
Layout stepped_layout(const Shape& shape, int64_t step);
/// Exchanges the last two dimensions in memory; contiguous below rank 2.
Layout transposed_layout(const Shape& shape);

/// Makes all elements along the axis share one place. Requires axis < rank.
Layout broadcast_layout(const Shape& shape, size_t axis);
/// Stores elements along the axis in reverse, with a negative stride. Requires axis < rank.
Layout reversed_layout(const Shape& shape, size_t axis);

/// Copies packed elements to a buffer of layout.buffer_elements elements, or back. Leaves other
/// bytes of the buffer unchanged. Element size is byte_size(dtype).
void scatter(DType dtype, const Shape& shape, const Layout& layout,
             std::span<const std::byte> packed, std::span<std::byte> buffer);
void gather(DType dtype, const Shape& shape, const Layout& layout,
            std::span<const std::byte> buffer, std::span<std::byte> packed);

}  // namespace gpuemu
