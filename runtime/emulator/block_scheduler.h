// The host threads that run the blocks of a launch.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/grid_deadlock.h"
#include "runtime/emulator/machine/cluster.h"

namespace gpuemu::emulator {

/// How a real part begins blocks.
struct Issue {
  bool in_order = false;  ///< As LaunchConfig::in_issue_order says.
  uint64_t held = 0;      ///< Blocks in progress at most.
  int sm = 0;
  uint32_t multiprocessors = 0;
};

class Schedule {
 public:
  /// Each thread keeps `resident_max` clusters in progress at most.
  Schedule(Launch& launch, uint32_t threads, size_t resident_max, const Issue& issue = {});

  /// To be called once by each thread. Runs clusters one after the other. While none ends further
  /// ones join, one by one as they may wait for a lock, then as many again: all of a grid can meet.
  void work();
  /// After all have returned: whether blocks may have waited for some that a real part would not
  /// have begun, in this launch or in the same one for larger sizes.
  bool blocks_met() const;

 private:
  using Clusters = std::vector<std::unique_ptr<Cluster>>;

  /// Numbers of clusters that a thread has taken and not begun.
  struct Taken {
    uint64_t next = 0, end = 0;
  };

  void join(Clusters& resident, Clusters& spare, Taken& taken, size_t wanted);
  void count_another();
  /// How many clusters join `resident` ones, of which one `ended` or none did in `passes` passes.
  size_t joining(size_t resident, bool ended, size_t passes) const;
  /// One turn for each; whether one ended.
  bool pass(Clusters& resident, Clusters& spare);
  /// Whether no further cluster of the thread can join.
  bool is_full(const Clusters& resident) const;
  /// Looks whether the clusters can still go on, for as long as they seem not to. How many further
  /// ones they have to wait for.
  size_t look(uint32_t thread, const Clusters& resident);
  /// In issue order: how many may begin beside those that all wait.
  size_t issued_beside(size_t resident) const;
  /// In issue order: whether it is the host that cannot hold what a real part would.
  bool is_short_of_memory(size_t resident) const;
  /// Whether `waiting` blocks that wait for later ones are as many as a launch for larger sizes
  /// lets wait: there they would keep the others from beginning.
  bool grows_too_large(size_t waiting) const;
  /// Puts the clock forward for those that wait no longer than a time; false where it is far ahead
  /// already, or nobody looks at it.
  bool pass_time();
  std::string why_stuck() const;
  std::string why_not_begun(uint64_t begun) const;

  Launch& launch_;
  const uint64_t clusters_;
  const uint64_t held_;  ///< Clusters that a real part has in progress at most.
  const size_t resident_max_;
  const Issue issue_;
  const bool counts_;  ///< Whether anybody asks how many are in progress.
  const uint64_t taken_at_once_;
  GridDeadlock deadlock_;
  std::atomic<uint32_t> next_thread_ = 0;
  std::atomic<uint64_t> in_progress_ = 0, in_progress_most_ = 0;  ///< Clusters of all threads.
  std::atomic<uint32_t> leaps_ = 0;  ///< Leaps of the clock since a thread made progress.
};

}  // namespace gpuemu::emulator
