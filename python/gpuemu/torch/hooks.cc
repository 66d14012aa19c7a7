// Makes `cuda` the accelerator of the autograd engine in a CPU build of torch. The engine calls
// torch's interface for out-of-tree device code; this replaces the empty implementation.
#include <new>

#include <ATen/detail/CUDAHooksInterface.h>

namespace {

class Hooks : public at::CUDAHooksInterface {
 public:
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};
static_assert(sizeof(Hooks) == sizeof(at::CUDAHooksInterface));

}  // namespace

extern "C" void gpuemu_torch_set_hooks() {
  new (const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks())) Hooks();
}
