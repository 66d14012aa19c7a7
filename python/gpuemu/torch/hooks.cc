// Tells the autograd engine of a CPU build of torch that `cuda` is the accelerator: it asks torch's
// interface for out-of-tree device code, which is replaced where torch has the empty one.
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
