// What programs give the driver as code: PTX text, and fat binaries that hold some.
#pragma once

#include <string>

#include "bindings/libcuda/abi.h"

namespace gpuemu::libcuda {

/// PTX text, or why there is none.
struct Image {
  int code = CUDA_SUCCESS;
  std::string ptx, problem;
};

/// Reads what lies at `image`, whose size nobody says: a fat binary and ELF have theirs inside,
/// text ends with a zero. Of a fat binary the PTX with the greatest architecture that is not above
/// `sm`.
Image read_image(const void* image, int sm);
/// As read_image(), of a file.
Image read_image_file(const char* path, int sm);
/// NoBinaryForGpu, UnsupportedPtxVersion or success, by the directives that the text begins with.
int check_target(const std::string& ptx, int sm, std::string& problem);

}  // namespace gpuemu::libcuda
