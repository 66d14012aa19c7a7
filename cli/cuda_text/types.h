// The dtype and the kind of scalar argument that a type of C++ is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

struct ElementType {
  std::string dtype;   ///< "" where it is none.
  std::string tag;     ///< Tag of a scalar argument: "i32"; "" of vectors and structures.
  uint32_t lanes = 1;  ///< 4 of float4.
};

/// Takes a type without const and *; aliases are followed. A structure is as many bytes as it has.
ElementType element_type(const std::string& type, const Definitions& definitions);

}  // namespace gpuemu::cli
