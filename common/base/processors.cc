#include "common/base/processors.h"

#include <pthread.h>
#include <sched.h>

namespace gpuemu {

void name_device_thread() { ::pthread_setname_np(::pthread_self(), kDeviceThread); }

void keep_off_my_processor(std::thread::native_handle_type helper) {
  cpu_set_t others;
  const int here = ::sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  if (::sched_getaffinity(0, sizeof(others), &others) != 0) return;
  CPU_CLR(static_cast<size_t>(here), &others);
  if (CPU_COUNT(&others) > 0) ::pthread_setaffinity_np(helper, sizeof(others), &others);
}

}  // namespace gpuemu
