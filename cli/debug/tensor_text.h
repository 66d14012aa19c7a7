// Tensors as text, each element in its own type. Pure.
#pragma once

#include <functional>
#include <string>

#include "cli/debug/slice.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// The shortest decimal that reads back as the same element; "true", "-12", "nan".
std::string element_text(DType dtype, const std::byte* element);
/// Its bits: "0x3f800000".
std::string hex_text(DType dtype, const std::byte* element);

struct TextOptions {
  bool hex = false;
  bool colour = false;
  /// Wrong elements, by flat index: in red, or between '*' without colour.
  std::function<bool(int64_t)> marked = {};
  /// Elements shown as they stand; of more, only the first and last along each axis.
  int64_t elements_max = 1000;
};

/// Nested brackets and aligned columns, as NumPy prints. REQUIRES: selection fits the tensor.
std::string tensor_text(const Tensor& tensor, const Selection& selection,
                        const TextOptions& options);

}  // namespace gpuemu::cli
