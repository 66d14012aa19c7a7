// The memory that a context has allocated, by kind and name.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gpuemu::opcall {

/// In the order of the constants in op_call.h.
enum class MemoryKind : uint8_t { Device, Pinned, Managed };
inline constexpr size_t kMemoryKinds = 3;

/// Device memory in bytes at one moment.
struct MemoryNow {
  uint64_t requested = 0, allocated = 0, reserved = 0;
};

/// The memory part of a profile. Sizes in bytes.
struct MemoryProfile {
  MemoryNow peak = {};
  uint64_t allocations = 0, frees = 0;
  std::map<std::string, uint64_t> by_name = {};  ///< At the peak of the requested bytes.
  /// Requested bytes, by microseconds since the profile began.
  std::vector<std::pair<double, uint64_t>> samples = {};
  std::chrono::steady_clock::time_point began = {};
};

/// Not thread-safe.
struct MemoryBook {
  uint64_t by_kind[kMemoryKinds] = {0, 0, 0};  ///< Allocated bytes.
  uint64_t unpooled = 0;                       ///< Device memory outside any pool.
  uint64_t allocations = 0, frees = 0, device_calls = 0;
  uint64_t peak_requested = 0, peak_reserved = 0;
  bool is_profiled = false;
  MemoryProfile profile = {};

  void note_peaks(const MemoryNow& now) {
    peak_requested = std::max(peak_requested, now.requested);
    peak_reserved = std::max(peak_reserved, now.reserved);
  }
};

}  // namespace gpuemu::opcall
