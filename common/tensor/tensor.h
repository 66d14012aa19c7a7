// Shapes, strides and tensors. A Tensor owns packed row-major bytes; layouts describe how the same
// elements lie in a device buffer.
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

/// Product of the sizes (1 for a scalar); InvalidArgument when a size is negative, the rank is
/// above kRankMax or the product overflows or exceeds kTensorBytesMax elements.
Result<int64_t> checked_element_count(const Shape& shape);
/// Product of the sizes. REQUIRES: checked_element_count(shape) succeeded.
int64_t element_count(const Shape& shape);
Strides row_major_strides(const Shape& shape);
std::string to_string(const Shape& shape);  ///< "[2, 3]"

/// Owns its packed, row-major, little-endian elements. A value type; copies are deep.
struct Tensor {
  DType dtype = DType::Float32;
  Shape shape;
  std::vector<std::byte> data;  ///< element_count(shape) * byte_size(dtype) bytes.

  int64_t count() const { return element_count(shape); }
  bool operator==(const Tensor&) const = default;
};

/// Zero-filled. REQUIRES: checked_element_count(shape) succeeded.
Tensor make_tensor(DType dtype, Shape shape);

using NamedTensors = std::map<std::string, Tensor>;  // Ordered: equal inputs, equal bytes.

/// How the elements of a tensor lie in its device buffer.
struct Layout {
  Strides strides;              ///< In elements; may be padded, transposed, 0 or negative.
  int64_t offset_elements = 0;  ///< Where element 0 lies, from the start of the buffer.
  int64_t buffer_elements = 0;  ///< What the buffer must hold.
  bool operator==(const Layout&) const = default;
};

Layout contiguous_layout(const Shape& shape);
/// Each row (last dimension) is followed by `pad` unused elements.
Layout padded_layout(const Shape& shape, int64_t pad);
/// Neighbours along the last dimension lie `step` elements apart. REQUIRES: step >= 1.
Layout stepped_layout(const Shape& shape, int64_t step);
/// The last two dimensions lie exchanged in memory; contiguous below rank 2.
Layout transposed_layout(const Shape& shape);

/// All elements along the axis are one and the same. REQUIRES: axis < rank.
Layout broadcast_layout(const Shape& shape, size_t axis);
/// The elements along the axis lie backwards, so its stride is negative. REQUIRES: axis < rank.
Layout reversed_layout(const Shape& shape, size_t axis);

/// Copies packed elements into a buffer of layout.buffer_elements elements and back. The buffer's
/// other bytes are left as they are. Element size is byte_size(dtype).
void scatter(DType dtype, const Shape& shape, const Layout& layout,
             std::span<const std::byte> packed, std::span<std::byte> buffer);
void gather(DType dtype, const Shape& shape, const Layout& layout,
            std::span<const std::byte> buffer, std::span<std::byte> packed);

}  // namespace gpuemu
