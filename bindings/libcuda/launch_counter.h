// Counts launches where the count outlives a process that is killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace gpuemu::libcuda {

/// Counts in memory of its own until keep_in(). Thread-safe.
class LaunchCounter {
 public:
  /// Counts in this file from now on, from 0. Where that fails the count is lost with the process.
  void keep_in(const std::string& file);
  void add(uint64_t launches) { shared_.load()->fetch_add(launches, std::memory_order_relaxed); }
  void subtract_one() { shared_.load()->fetch_sub(1, std::memory_order_relaxed); }
  uint64_t count() const { return shared_.load()->load(); }

 private:
  std::atomic<uint64_t> own_ = 0;
  std::atomic<std::atomic<uint64_t>*> shared_ = &own_;
};

}  // namespace gpuemu::libcuda
