// The operators that come with gpuemu: CUDA sources compiled to PTX at build time. In a
// configuration they are `source = "builtin:NAME"`, with one entry per dtype, NAME_float32,
// NAME_float16, NAME_bfloat16.
#pragma once

#include <span>
#include <string_view>

namespace gpuemu {

struct BuiltinKernel {
  std::string_view name;  ///< "softmax"
  std::string_view ptx;
  std::string_view file;  ///< Source, relative to the project: "kernels/softmax/softmax.cu".
};

/// Sorted by name.
std::span<const BuiltinKernel> builtin_kernels();
/// Null when there is none of that name.
const BuiltinKernel* find_builtin(std::string_view name);

}  // namespace gpuemu
