// Gives `cuda` torch's guard without effect when it is loaded, for versions of torch that do not
// offer that themselves.
#include <c10/core/impl/FakeGuardImpl.h>

namespace gpuemu {

using NoEffect = c10::impl::FakeGuardImpl<c10::DeviceType::CUDA>;
C10_REGISTER_GUARD_IMPL(CUDA, NoEffect)

}  // namespace gpuemu
