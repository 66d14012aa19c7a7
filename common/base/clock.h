// Wall-clock time.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpuemu {

/// Returns whole seconds since 1970 UTC.
inline int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace gpuemu
