// Runs the blocks of a launch on the host's threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/grid_deadlock.h"
#include "runtime/emulator/machine/cluster_pool.h"
#include "runtime/emulator/machine/thread_scheduler.h"

namespace gpuemu::emulator {

/// How a real GPU starts blocks.
struct Issue {
  bool in_order = false;  ///< See LaunchConfig::in_issue_order.
  uint64_t held = 0;      ///< Largest number of blocks in progress.
  int sm = 0;
  uint32_t multiprocessors = 0;
};

class Schedule {
 public:
  /// Each thread keeps at most `resident_max` clusters in progress.
  Schedule(Launch& launch, ClusterPool& pool, uint32_t threads, size_t resident_max,
           const Issue& issue = {});

  /// Runs clusters one after the other; called once by each thread. While none ends, further
  /// clusters join: first one at a time, in case a lock is held, then doubling their number, so
  /// that the whole grid can be in progress. `call_others` is called if other threads can help,
  /// unless the launch is expected to end within a few microseconds.
  void work(const std::function<void()>& call_others);
  /// Call it after all threads have returned. Returns whether blocks may have waited for some that
  /// a real GPU would not have started, in this launch or in the same one for larger sizes.
  bool blocks_met() const;

 private:
  using Clusters = std::vector<std::unique_ptr<Cluster>>;
  using Clock = std::chrono::steady_clock;

  /// The range of clusters that a thread has taken and not yet started.
  struct Taken {
    uint64_t next = 0, end = 0;
  };

  void join(Clusters& resident, Clusters& spare, Taken& taken, size_t wanted);
  void count_another();
  /// Returns how many clusters join the `resident` ones. `ended`: one has just ended. `passes`:
  /// passes since one last ended.
  size_t joining(size_t resident, bool ended, size_t passes) const;
  /// Gives each cluster its rounds. Returns how many ended.
  size_t pass(Clusters& resident, Clusters& spare);
  /// Returns whether no further cluster of the thread can join.
  bool is_full(const Clusters& resident) const;
  /// Checks for a deadlock, as long as no cluster seems to make progress. Returns how many further
  /// clusters must join.
  size_t look(uint32_t thread, const Clusters& resident);
  /// In issue order: returns how many clusters may start beside those that all wait.
  size_t issued_beside(size_t resident) const;
  /// In issue order: returns whether the host lacks memory for what a real GPU would hold.
  bool is_short_of_memory(size_t resident) const;
  /// Returns whether a launch for larger sizes would have as many waiting blocks as a GPU can hold,
  /// so that the blocks they wait for could never start.
  bool grows_too_large(size_t waiting) const;
  /// Advances the clock, for blocks that only wait for time to pass. Returns false if it is far
  /// ahead already or the program reads no clock.
  bool pass_time();
  std::string why_stuck() const;
  std::string why_not_begun(uint64_t begun) const;
  /// Returns whether the launch will end before other threads have woken up, as far as the last one
  /// of the kernel tells.
  bool is_short() const;

  Launch& launch_;
  ClusterPool& pool_;
  const uint64_t clusters_;
  const BlockOrder order_;
  const uint64_t held_;  ///< Clusters that a real GPU has in progress at most.
  const size_t resident_max_;
  const Issue issue_;
  const bool counts_;  ///< Whether clusters in progress must be counted.
  const uint64_t taken_at_once_;
  GridDeadlock deadlock_;
  std::atomic<uint32_t> next_thread_ = 0;
  std::atomic<uint64_t> in_progress_ = 0, in_progress_most_ = 0;  ///< Over all threads.
  std::atomic<uint32_t> leaps_ = 0;  ///< Advances of the clock since a thread made progress.
};

}  // namespace gpuemu::emulator
