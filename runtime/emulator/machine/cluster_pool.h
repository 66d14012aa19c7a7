// Clusters kept from launch to launch: allocating and clearing their registers, shared memory and
// access records takes longer than a small launch. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "runtime/emulator/machine/cluster.h"

namespace gpuemu::emulator {

class ClusterPool {
 public:
  /// Returns a cluster that an earlier launch of the same kernel left, else a new one. A launch of
  /// a series gets one of its series if there is one. Those of other series are left alone until
  /// the pool is full.
  std::unique_ptr<Cluster> take(Launch& launch);
  /// Keeps a cluster that the launch needs no more, if it is small enough; else destroys it.
  void keep(std::unique_ptr<Cluster> cluster, const Launch& launch);
  /// Call it before a program is destroyed.
  void clear();

 private:
  struct Kept {
    std::unique_ptr<Cluster> cluster;
    uint64_t bytes = 0;
    uint64_t series = 0;  ///< LaunchInputs::series of the launch that used it last.
  };
  using Place = std::deque<Kept>::iterator;
  Place find(const Launch& launch);

  std::mutex mutex_;
  std::deque<Kept> kept_;  ///< The one that was used last is the last.
  uint64_t bytes_ = 0;
};

}  // namespace gpuemu::emulator
