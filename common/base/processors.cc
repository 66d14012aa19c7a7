#include "common/base/processors.h"

#include <pthread.h>
#include <sched.h>

namespace gpuemu {

void name_device_thread() { ::pthread_setname_np(::pthread_self(), kDeviceThread); }

cpu_set_t allowed_processors() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_ZERO(&allowed);
  return allowed;
}

void keep_off_my_processor(std::thread::native_handle_type helper, cpu_set_t allowed) {
  const int here = ::sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  CPU_CLR(static_cast<size_t>(here), &allowed);
  if (CPU_COUNT(&allowed) > 0) ::pthread_setaffinity_np(helper, sizeof(allowed), &allowed);
}

}  // namespace gpuemu
