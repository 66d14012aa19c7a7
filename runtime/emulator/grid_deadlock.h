// Whether the threads that run blocks have all found out that theirs wait for ever.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace gpuemu::emulator {

/// Blocks that wait for blocks of another thread are stuck only when those are too. Each thread
/// looks at its own while the others go on, and runs nothing after a look that found nothing; the
/// look holds until somebody else has run blocks without looking.
class GridDeadlock {
 public:
  explicit GridDeadlock(uint32_t threads) : threads_(threads, kBusy) {}

  /// `thread` begins to look at its blocks. The time, for all_stuck.
  uint64_t begin(uint32_t thread);
  /// After a look that began at `time` and saw no block go on: whether none of any thread does.
  bool all_stuck(uint32_t thread, uint64_t time);
  /// Whether another look may find more than the last one.
  bool may_have_changed(uint32_t thread);
  /// The thread runs its blocks again.
  void goes_on(uint32_t thread);
  /// It has no blocks any more.
  void leaves(uint32_t thread);

 private:
  static constexpr uint64_t kBusy = 0, kLooking = 1, kGone = ~uint64_t{0};

  std::mutex mutex_;               ///< Guards what follows.
  uint64_t time_ = 2;              ///< Grows whenever something may have changed.
  std::vector<uint64_t> threads_;  ///< What each does, or the time of its last look.
};

}  // namespace gpuemu::emulator
