// Replaces headers that nvcc takes from the host compiler and NVRTC lacks, so that a source that
// includes <math.h> or uses INFINITY compiles with either.
#pragma once

#include <span>

namespace gpuemu::compile {

struct VirtualHeader {
  const char* name;
  const char* text;
};

/// Included before every source: what nvcc defines without any #include.
inline constexpr const char* kPrelude = "gpuemu_prelude.h";

/// Returns the headers, with only what device code can use. Static storage.
std::span<const VirtualHeader> virtual_headers();

}  // namespace gpuemu::compile
