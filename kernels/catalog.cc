// Collects the PTX that the build made from kernels/*/*.cu and the declarations of kernels/*/*.cc.
// cmake/GpuemuOps.cmake writes the lists.
#include "kernels/catalog.h"

#include <algorithm>
#include <array>

#include <zlib.h>

#include "common/base/check.h"
#include "kernels/op.h"

namespace gpuemu {
namespace kernels {
// Each is defined in a source that the build generates from the kernel's PTX.
#define GPUEMU_MODULE(name) extern const BuiltinKernel k_##name;
#include "modules.def"
#undef GPUEMU_MODULE
// Each is defined in kernels/NAME/NAME.cc.
#define GPUEMU_OP(name) const OpKind& name##_op();
#include "ops.def"
#undef GPUEMU_OP
}  // namespace kernels

std::string BuiltinKernel::ptx() const {
  std::string text(ptx_bytes, '\0');
  uLongf size = ptx_bytes;
  const int status = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                                  reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  GPUEMU_CHECK(status == Z_OK && size == ptx_bytes);  // The build wrote both.
  return text;
}

std::span<const BuiltinKernel> builtin_kernels() {
  static const std::array kKernels = {
#define GPUEMU_MODULE(name) kernels::k_##name,
#include "modules.def"
#undef GPUEMU_MODULE
  };
  return kKernels;
}

const BuiltinKernel* find_builtin(std::string_view name) {
  const auto all = builtin_kernels();
  const auto found = std::ranges::find(all, name, &BuiltinKernel::name);
  return found == all.end() ? nullptr : &*found;
}

std::span<const OpKind* const> builtin_ops() {
  static const std::array kOps = {
#define GPUEMU_OP(name) &kernels::name##_op(),
#include "ops.def"
#undef GPUEMU_OP
  };
  return kOps;
}

}  // namespace gpuemu
