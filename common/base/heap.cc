#include "common/base/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "common/base/service_limits.h"

namespace gpuemu {

void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_TRIM_THRESHOLD, kFreedBytesKept);
  ::mallopt(M_MMAP_THRESHOLD, kHeapBlockBytesMax);
#endif
}

}  // namespace gpuemu
