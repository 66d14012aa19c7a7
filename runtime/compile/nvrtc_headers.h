// Headers that nvcc takes from the host's compiler and that NVRTC does not have, so that a source
// which includes <math.h> or says INFINITY compiles with either.
#pragma once

#include <span>

namespace gpuemu::compile {

struct VirtualHeader {
  const char* name;
  const char* text;
};

/// Included before every source: what nvcc defines without any #include.
inline constexpr const char* kPrelude = "gpuemu_prelude.h";

/// Declarations that device code can use, and nothing more. Static storage.
std::span<const VirtualHeader> virtual_headers();

}  // namespace gpuemu::compile
