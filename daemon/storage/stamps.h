// Private to this folder: stamps that order the records of all projects by storing time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/base/clock.h"

namespace gpuemu::storage {

/// Hands out stamps. Thread-safe.
class Stamps {
 public:
  /// Returns microseconds since 1970, larger than every earlier stamp even if the clock was set
  /// back.
  uint64_t next() {
    uint64_t last = last_.load();
    while (true) {
      const uint64_t next = std::max(last + 1, now_micros());
      if (last_.compare_exchange_weak(last, next)) return next;
    }
  }
  /// Keeps later stamps above `stamp`, the stamp of a stored record.
  void met(uint64_t stamp) {
    uint64_t last = last_.load();
    while (last < stamp && !last_.compare_exchange_weak(last, stamp)) {
    }
  }

 private:
  std::atomic<uint64_t> last_{0};
};

}  // namespace gpuemu::storage
