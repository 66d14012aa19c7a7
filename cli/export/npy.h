// Writes packed row-major tensors in NumPy's .npy format, version 1.0.
#pragma once

#include <string>

#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// bfloat16, which NumPy does not know, is written as uint16 with the same bits.
std::string npy_text(const Tensor& tensor);

}  // namespace gpuemu::cli
