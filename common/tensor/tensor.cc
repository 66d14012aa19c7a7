// Computes sizes and creates tensors.
#include "common/tensor/tensor.h"

#include <bit>

#include <fmt/ranges.h>

#include "common/base/limits.h"

namespace gpuemu {

Result<int64_t> checked_element_count(const Shape& shape) {
  if (shape.size() > kRankMax) {
    return error(ErrorCode::InvalidArgument, "rank {} of shape {}, the limit is {}", shape.size(),
                 to_string(shape), kRankMax);
  }
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) {
      return error(ErrorCode::InvalidArgument, "negative size {} in shape {}", size,
                   to_string(shape));
    }
    empty = empty || size == 0;
    if (size == 0) continue;
    // Another size of 0 does not help: strides multiply the other sizes.
    if (__builtin_mul_overflow(count, size, &count) ||
        static_cast<uint64_t>(count) > kTensorBytesMax) {
      return error(ErrorCode::InvalidArgument, "shape {} has too many elements, the limit is {}",
                   to_string(shape), kTensorBytesMax);
    }
  }
  return empty ? 0 : count;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

uint64_t packed_bytes(DType dtype, const Shape& shape) {
  return static_cast<uint64_t>(element_count(shape)) * byte_size(dtype);
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Tensor make_tensor(DType dtype, Shape shape) {
  const uint64_t bytes = packed_bytes(dtype, shape);
  return {dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

std::string size_class(std::span<const int64_t> shape, bool contiguous) {
  Shape rounded;
  for (const int64_t size : shape) {
    rounded.push_back(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size))));
  }
  return to_string(rounded) + (contiguous ? "" : " strided");
}

}  // namespace gpuemu
