// Gathers what the build made of kernels/*/*.cu.
#include "kernels/catalog.h"

#include <algorithm>
#include <array>

namespace gpuemu {
namespace kernels {
// Each is defined in a source that the build makes from the kernel's PTX.
#define GPUEMU_BUILTIN(name) extern const BuiltinKernel k_##name;
#include "kernels/builtin.def"
#undef GPUEMU_BUILTIN
}  // namespace kernels

std::span<const BuiltinKernel> builtin_kernels() {
  static const std::array kKernels = {
#define GPUEMU_BUILTIN(name) kernels::k_##name,
#include "kernels/builtin.def"
#undef GPUEMU_BUILTIN
  };
  return kKernels;
}

const BuiltinKernel* find_builtin(std::string_view name) {
  const auto all = builtin_kernels();
  const auto found = std::ranges::find(all, name, &BuiltinKernel::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace gpuemu
