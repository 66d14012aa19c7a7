#include "common/base/heap.h"

#include <cstdlib>
#include <fstream>

#include <unistd.h>

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

uint64_t resident_bytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void release_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace gpuemu
