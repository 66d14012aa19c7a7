// Detects a grid-wide deadlock: the blocks of every host thread wait forever.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace gpuemu::emulator {

/// Blocks that wait for another thread's blocks are deadlocked only if those are too. So each
/// thread checks its own blocks while the others run, and runs nothing after a check that found no
/// progress. The result of a check stays valid until some thread runs blocks again.
class GridDeadlock {
 public:
  explicit GridDeadlock(uint32_t threads) : threads_(threads, kBusy) {}

  /// Called when `thread` begins a check of its blocks. Returns the time to pass to all_stuck().
  uint64_t begin(uint32_t thread);
  /// Called after a check that began at `time` and found no progress. Returns whether no block of
  /// any thread makes progress.
  bool all_stuck(uint32_t thread, uint64_t time);
  /// Returns whether another check may have a different result from the last one.
  bool may_have_changed(uint32_t thread);
  /// Called when the thread runs its blocks again.
  void goes_on(uint32_t thread);
  /// Called when the thread has no more blocks.
  void leaves(uint32_t thread);

 private:
  static constexpr uint64_t kBusy = 0, kLooking = 1, kGone = ~uint64_t{0};

  std::mutex mutex_;   ///< Guards the members below.
  uint64_t time_ = 2;  ///< A logical clock; advances whenever something may have changed.
  std::vector<uint64_t> threads_;  ///< State of each thread, or the time of its last check.
};

}  // namespace gpuemu::emulator
