// The operators built into gpuemu: CUDA sources compiled to PTX at build time. In a configuration
// they are `source = "builtin:NAME"`, with one entry per dtype: NAME_float32, NAME_float16,
// NAME_bfloat16.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gpuemu {

struct BuiltinKernel {
  std::string_view name;    ///< "softmax"
  std::string_view file;    ///< Path in the source tree: "kernels/softmax/softmax.cu".
  std::string_view packed;  ///< Its PTX, packed by tools/embed_ptx.py.
  size_t ptx_bytes;         ///< Size of the unpacked PTX.

  /// Returns the PTX. Unpacking the longest, 0.9 MB, takes 5 ms.
  std::string ptx() const;
};

/// Sorted by name.
std::span<const BuiltinKernel> builtin_kernels();
/// Returns null if no kernel has that name.
const BuiltinKernel* find_builtin(std::string_view name);

}  // namespace gpuemu
