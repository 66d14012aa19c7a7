// Wall-clock and processor time.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace gpuemu {

/// Returns whole seconds since 1970 UTC.
inline int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns microseconds since 1970 UTC.
inline uint64_t now_micros() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

/// Returns the processor time that this thread has used. On a busy machine wall-clock time includes
/// other programs.
inline std::chrono::nanoseconds thread_processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Returns the whole milliseconds from one time to a later one.
inline uint64_t milliseconds_between(std::chrono::steady_clock::time_point from,
                                     std::chrono::steady_clock::time_point to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

}  // namespace gpuemu
