// Finds kernels in a CUDA source: the names of their parameters and which pointers are const, which
// compiler output no longer contains.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::cli {

struct SourceParam {
  /// Without const, * and __restrict__: "float", "T". For a void pointer, the type that the body
  /// casts it to, if any.
  std::string type;
  std::string name;
  bool pointer = false, is_const = false;
};

struct SourceKernel {
  std::string name;
  std::string scope;                         ///< The named namespaces around it: "outer::inner::".
  std::vector<std::string> template_params;  ///< "typename T", "int N"; empty for no template.
  std::vector<SourceParam> params;
  std::string attributes;  ///< Between __global__ and the name: "void __launch_bounds__(256)".
  uint32_t line = 0;
  std::string body;  ///< Between its braces, without comments; "" for a declaration.
};

/// Returns every `__global__` function with a body, as far as C++ can be read without compiling it.
std::vector<SourceKernel> scan_kernels(std::string_view source);

}  // namespace gpuemu::cli
