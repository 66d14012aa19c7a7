// The host threads that run the blocks of a launch.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/stalls.h"

namespace gpuemu::emulator {

class Schedule {
 public:
  /// Each thread keeps `resident_max` clusters in progress at most.
  Schedule(Launch& launch, uint32_t threads, size_t resident_max)
      : launch_(launch),
        clusters_(cluster_count(launch)),
        resident_max_(resident_max),
        stalls_(threads) {}

  /// To be called once by each thread. Runs clusters one after the other. While none ends further
  /// ones join, one by one as they may wait for a lock, then as many again: all of a grid can meet.
  void work();

 private:
  using Clusters = std::vector<std::unique_ptr<Cluster>>;

  void join(Clusters& resident, Clusters& spare, size_t wanted);
  /// How many clusters join `resident` ones, of which one `ended` or none did in `passes` passes.
  size_t joining(size_t resident, bool ended, size_t passes) const;
  /// One turn for each; whether one ended.
  bool pass(Clusters& resident, Clusters& spare);
  /// Whether no further cluster of the thread can join.
  bool is_full(const Clusters& resident) const;
  /// Looks whether the clusters can still go on, for as long as they seem not to.
  void look(uint32_t thread, const Clusters& resident);
  /// Puts the clock forward for those that wait no longer than a time; false where it is far ahead
  /// already, or nobody looks at it.
  bool pass_time();
  std::string why_stuck() const;

  Launch& launch_;
  const uint64_t clusters_;
  const size_t resident_max_;
  Stalls stalls_;
  std::atomic<uint32_t> next_thread_ = 0;
  std::atomic<uint32_t> leaps_ = 0;  ///< Of the clock since a thread went on.
};

}  // namespace gpuemu::emulator
