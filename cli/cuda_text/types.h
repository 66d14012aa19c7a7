// Maps C++ types to dtypes and kinds of scalar arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

struct ElementType {
  std::string dtype;   ///< "" if there is none.
  std::string tag;     ///< Tag of a scalar argument: "i32"; "" for vectors and structures.
  uint32_t lanes = 1;  ///< 4 for float4.
};

/// Takes a type without const and *; aliases are resolved. A structure counts as its bytes.
ElementType element_type(const std::string& type, const Definitions& definitions);

}  // namespace gpuemu::cli
