// Placement of threads on processors.
#pragma once

#include <thread>

namespace gpuemu {

/// Name of threads that execute an emulated device's work, as debuggers show it.
inline constexpr const char* kDeviceThread = "gpuemu-device";
/// Sets that name for the calling thread.
void name_device_thread();

/// Lets `helper` run on any allowed processor except the caller's current one. Linux often starts a
/// thread on its creator's processor and moves it milliseconds later, which serialises short jobs.
/// Has no effect with a single processor. May be called from any thread; on failure the system
/// decides.
void keep_off_my_processor(std::thread::native_handle_type helper);

}  // namespace gpuemu
