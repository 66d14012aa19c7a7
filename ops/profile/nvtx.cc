#include "ops/profile/nvtx.h"

#ifdef GPUEMU_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace gpuemu::nvtx {

#ifdef GPUEMU_NVTX
bool is_built_in() { return true; }
void push(const std::string& name) { nvtxRangePushA(name.c_str()); }
void pop() { nvtxRangePop(); }
#else
bool is_built_in() { return false; }
void push(const std::string& /*name*/) {}
void pop() {}
#endif

}  // namespace gpuemu::nvtx
