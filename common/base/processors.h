// Placement of threads on processors.
#pragma once

#include <thread>

#include <sched.h>

namespace gpuemu {

/// Name of threads that execute an emulated device's work, as debuggers show it.
inline constexpr const char* kDeviceThread = "gpuemu-device";
/// Sets that name for the calling thread.
void name_device_thread();

/// Returns the processors that the calling thread may run on; none if the system does not say.
cpu_set_t allowed_processors();

/// Lets `helper` run on the `allowed` processors except the caller's current one. Linux often
/// starts a thread on its creator's processor and moves it milliseconds later, which serialises
/// short jobs. Has no effect where no other processor is allowed. May be called from any thread; on
/// failure the system decides.
void keep_off_my_processor(std::thread::native_handle_type helper,
                           cpu_set_t allowed = allowed_processors());

}  // namespace gpuemu
