#include "runtime/device/sparse.h"

namespace gpuemu {

SparseMemory* sparse_memory_of(Device& device) { return dynamic_cast<SparseMemory*>(&device); }

}  // namespace gpuemu
