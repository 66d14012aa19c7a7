// Counts launches in memory that outlives a process that is killed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace gpuemu::libcuda {

/// Counts the launches that were issued, those of them that have ended, and those for which the
/// program got an error instead. Thread-safe. Counts in memory of its own until keep_in().
class LaunchCounter {
 public:
  /// Counts in this file from now on, as three numbers of eight bytes: from those that the process
  /// left there before it executed this program, else from 0. If the file cannot be written, the
  /// counts are lost with the process.
  void keep_in(const std::string& file);
  void issue() { counts()[kIssued].fetch_add(1, std::memory_order_relaxed); }
  void refuse() { counts()[kIssued].fetch_sub(1, std::memory_order_relaxed); }
  void reject() { counts()[kRejected].fetch_add(1, std::memory_order_relaxed); }
  void end() { counts()[kEnded].fetch_add(1, std::memory_order_relaxed); }
  uint64_t issued() { return counts()[kIssued].load(); }
  uint64_t ended() { return counts()[kEnded].load(); }
  uint64_t rejected() { return counts()[kRejected].load(); }

 private:
  enum { kIssued, kEnded, kRejected, kCounts };
  using Counts = std::array<std::atomic<uint64_t>, kCounts>;
  Counts& counts() { return *shared_.load(); }

  Counts own_ = {};
  std::atomic<Counts*> shared_ = &own_;
};

}  // namespace gpuemu::libcuda
