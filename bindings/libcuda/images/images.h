// Extracts PTX from the images that programs load: PTX text and fat binaries. Images are untrusted.
#pragma once

#include <string>

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// The PTX of an image; when `code` is not CUDA_SUCCESS, `problem` says why there is none.
struct Image {
  int code = CUDA_SUCCESS;
  std::string ptx, problem;
};

/// Reads the image at an address. Text ends with a zero; a fat binary and an ELF file contain their
/// size. From a fat binary it takes the PTX for the highest architecture up to `sm`. Errors:
/// CUDA_ERROR_INVALID_VALUE for null, CUDA_ERROR_INVALID_IMAGE for a damaged image,
/// CUDA_ERROR_NO_BINARY_FOR_GPU for machine code without PTX. Thread-safe.
Image read_image(const void* image, int sm);
/// Does the same with the bytes of an image, whose end is known.
Image read_image_bytes(std::string content, int sm);
/// Does the same with a file; CUDA_ERROR_FILE_NOT_FOUND when it cannot be opened.
Image read_image_file(const char* path, int sm);
/// Checks the `.version` and `.target` directives. Returns CUDA_SUCCESS, or fills `problem` and
/// returns CUDA_ERROR_UNSUPPORTED_PTX_VERSION or CUDA_ERROR_NO_BINARY_FOR_GPU.
int check_target(const std::string& ptx, int sm, std::string& problem);

}  // namespace gpuemu::libcuda
