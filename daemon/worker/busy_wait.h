// Waking a thread takes as long as a small case on a GPU, which is idle meanwhile. So threads that
// exchange plans poll for the next message for a while before they sleep.
#pragma once

#include <chrono>
#include <string_view>
#include <thread>

#include "runtime/device/device_traits.h"

namespace gpuemu {

/// Longer than a small case takes on a GPU.
inline constexpr std::chrono::microseconds kBusyWait{200};
/// With fewer processors, polling would take time from other threads.
inline constexpr unsigned kBusyWaitProcessorsMin = 8;

/// Returns how long to poll before sleeping, for plans on `backend`.
inline std::chrono::microseconds busy_wait_of(std::string_view backend) {
  const bool spares = std::thread::hardware_concurrency() >= kBusyWaitProcessorsMin;
  return spares && device_traits(backend).is_gpu ? kBusyWait : std::chrono::microseconds(0);
}

}  // namespace gpuemu
