// A GPU has nothing to do while a thread between two cases is woken, which takes as long as a small
// case. So those who exchange plans look for the next message for a while before they sleep.
#pragma once

#include <chrono>
#include <string_view>
#include <thread>

#include "runtime/device/device_traits.h"

namespace gpuemu {

/// Longer than a small case takes on a GPU.
inline constexpr std::chrono::microseconds kBusyWait{200};
/// With fewer processors the time is worth more to others.
inline constexpr unsigned kBusyWaitProcessorsMin = 8;

/// How long to look before sleeping, where plans run on `backend`.
inline std::chrono::microseconds busy_wait_of(std::string_view backend) {
  const bool spares = std::thread::hardware_concurrency() >= kBusyWaitProcessorsMin;
  return spares && device_traits(backend).is_gpu ? kBusyWait : std::chrono::microseconds(0);
}

}  // namespace gpuemu
