// Where the threads of one job run.
#pragma once

#include <thread>

namespace gpuemu {

/// The name of threads that do the work of an emulated device, as debuggers show it.
inline constexpr const char* kDeviceThread = "gpuemu-device";
/// Gives the calling thread that name.
void name_device_thread();

/// Lets `helper` run on any processor that the caller may use but the one the caller is on. Linux
/// often starts a thread beside its maker and moves it milliseconds later, which serialises short
/// jobs. Does nothing where there is one processor. Any thread may call it; a failure leaves the
/// placement to the system.
void keep_off_my_processor(std::thread::native_handle_type helper);

}  // namespace gpuemu
