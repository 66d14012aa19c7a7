// Formats tensors, each element in its own type. No side effects.
#pragma once

#include <functional>
#include <string>

#include "cli/debug/slice.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// Returns the shortest decimal that reads back as the same element; "true", "-12", "nan".
std::string element_text(DType dtype, const std::byte* element);
/// Returns the bits of the element: "0x3f800000".
std::string hex_text(DType dtype, const std::byte* element);

struct TextOptions {
  bool hex = false;
  bool colour = false;
  /// Selects wrong elements by flat index, shown in red, or between '*' without colour.
  std::function<bool(int64_t)> marked = {};
  /// Larger selections show only the first and last elements along each axis.
  int64_t elements_max = 1000;
};

/// Formats with nested brackets and aligned columns, like NumPy. REQUIRES: selection fits the
/// tensor.
std::string tensor_text(const Tensor& tensor, const Selection& selection,
                        const TextOptions& options);

}  // namespace gpuemu::cli
