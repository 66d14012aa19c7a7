// Computes strides of layouts, and copies between packed elements and strided buffers.
#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/tensor/tensor.h"

namespace gpuemu {
namespace {

/// Iterates over the rows (runs along the last dimension) of a tensor in row-major order.
class RowWalk {
 public:
  RowWalk(const Shape& shape, const Layout& layout)
      : shape_(shape), strides_(layout.strides), position_(layout.offset_elements) {
    GPUEMU_CHECK(strides_.size() == shape_.size() && shape_.size() <= kRankMax);
  }
  int64_t position() const { return position_; }
  void advance() {
    for (size_t axis = shape_.size(); axis-- > 1;) {
      const size_t outer = axis - 1;
      position_ += strides_[outer];
      if (++index_[outer] < shape_[outer]) return;
      position_ -= strides_[outer] * shape_[outer];
      index_[outer] = 0;
    }
  }

 private:
  const Shape& shape_;
  const Strides& strides_;
  std::array<int64_t, kRankMax> index_{};
  int64_t position_;
};

template <size_t kBytes, bool kScatter, typename Packed, typename Buffer>
void copy_row(Packed* packed, Buffer* buffer, size_t count, int64_t stride) {
  const auto step = static_cast<ptrdiff_t>(stride) * static_cast<ptrdiff_t>(kBytes);
  for (size_t i = 0; i < count; ++i) {
    Buffer* at = buffer + static_cast<ptrdiff_t>(i) * step;
    if constexpr (kScatter) {
      std::memcpy(at, packed + i * kBytes, kBytes);
    } else {
      std::memcpy(packed + i * kBytes, at, kBytes);
    }
  }
}

template <bool kScatter, typename Packed, typename Buffer>
void copy(DType dtype, const Shape& shape, const Layout& layout, Packed packed, Buffer buffer) {
  const size_t size = byte_size(dtype);
  const auto count = static_cast<size_t>(element_count(shape));
  GPUEMU_CHECK(packed.size() == count * size);
  GPUEMU_CHECK(buffer.size() == static_cast<size_t>(layout.buffer_elements) * size);
  if (count == 0) return;
  const size_t row = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  const int64_t stride = shape.empty() ? 1 : layout.strides.back();
  const int64_t reach = static_cast<int64_t>(row - 1) * stride;
  RowWalk walk(shape, layout);
  for (size_t done = 0; done < count; done += row, walk.advance()) {
    auto* near = packed.data() + done * size;
    const int64_t first = walk.position();
    GPUEMU_CHECK(first >= 0 && first + reach >= 0 &&
                 std::max(first, first + reach) < layout.buffer_elements);
    auto* far = buffer.data() + static_cast<size_t>(first) * size;
    if (stride == 1) {
      if constexpr (kScatter) {
        std::memcpy(far, near, row * size);
      } else {
        std::memcpy(near, far, row * size);
      }
      continue;
    }
    switch (size) {
      case 1:
        copy_row<1, kScatter>(near, far, row, stride);
        break;
      case 2:
        copy_row<2, kScatter>(near, far, row, stride);
        break;
      case 4:
        copy_row<4, kScatter>(near, far, row, stride);
        break;
      default:
        copy_row<8, kScatter>(near, far, row, stride);
        break;
    }
  }
}

}  // namespace

Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

Layout contiguous_layout(const Shape& shape) {
  return {row_major_strides(shape), 0, element_count(shape)};
}

Layout padded_layout(const Shape& shape, int64_t pad) {
  if (shape.empty()) return contiguous_layout(shape);
  Shape padded = shape;
  padded.back() += pad;
  Layout layout{row_major_strides(padded), 0, 0};
  layout.buffer_elements = element_count(shape) == 0 ? 0 : element_count(padded);
  return layout;
}

Layout stepped_layout(const Shape& shape, int64_t step) {
  GPUEMU_CHECK(step >= 1);
  if (shape.empty()) return contiguous_layout(shape);
  Layout layout = contiguous_layout(shape);
  for (int64_t& stride : layout.strides) stride *= step;
  // The buffer ends with the last element: bytes after it do not belong to the tensor.
  if (layout.buffer_elements > 0) layout.buffer_elements = (layout.buffer_elements - 1) * step + 1;
  return layout;
}

Layout transposed_layout(const Shape& shape) {
  if (shape.size() < 2) return contiguous_layout(shape);
  const size_t last = shape.size() - 1;
  Shape memory = shape;
  std::swap(memory[last], memory[last - 1]);
  Layout layout{row_major_strides(memory), 0, element_count(shape)};
  std::swap(layout.strides[last], layout.strides[last - 1]);
  return layout;
}

Layout broadcast_layout(const Shape& shape, size_t axis) {
  GPUEMU_CHECK(axis < shape.size());
  Shape memory = shape;
  memory[axis] = std::min<int64_t>(memory[axis], 1);
  Layout layout = contiguous_layout(memory);
  layout.strides[axis] = 0;
  return layout;
}

Layout reversed_layout(const Shape& shape, size_t axis) {
  GPUEMU_CHECK(axis < shape.size());
  Layout layout = contiguous_layout(shape);
  if (layout.buffer_elements == 0) return layout;
  layout.offset_elements = (shape[axis] - 1) * layout.strides[axis];
  layout.strides[axis] = -layout.strides[axis];
  return layout;
}

void scatter(DType dtype, const Shape& shape, const Layout& layout,
             std::span<const std::byte> packed, std::span<std::byte> buffer) {
  copy<true>(dtype, shape, layout, packed, buffer);
}

void gather(DType dtype, const Shape& shape, const Layout& layout,
            std::span<const std::byte> buffer, std::span<std::byte> packed) {
  copy<false>(dtype, shape, layout, packed, buffer);
}

}  // namespace gpuemu
