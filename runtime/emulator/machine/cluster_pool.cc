#include "runtime/emulator/machine/cluster_pool.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"
#include "runtime/emulator/program/budget.h"

namespace gpuemu::emulator {
namespace {

/// Observers, counters and orders of threads have state of their own in a cluster.
bool can_share(const Launch& launch) {
  return launch.observer == nullptr && !launch.report.is_counted() &&
         launch.inputs.config->thread_order == ThreadOrder::InOrder;
}

}  // namespace

std::unique_ptr<Cluster> ClusterPool::take(Launch& launch) {
  if (!can_share(launch)) return std::make_unique<Cluster>(launch);
  std::unique_ptr<Cluster> found;
  {
    const std::lock_guard lock(mutex_);
    const auto place =
        std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.cluster->fits(launch); });
    if (place != kept_.end()) {
      found = std::move(place->cluster);
      bytes_ -= place->bytes;
      kept_.erase(place);
    }
  }
  if (found == nullptr) return std::make_unique<Cluster>(launch);
  found->serve(launch);
  return found;
}

void ClusterPool::keep(std::unique_ptr<Cluster> cluster, const Launch& launch) {
  const uint64_t bytes = block_bytes(launch.inputs) * blocks_of_cluster(launch);
  if (!can_share(launch) || bytes > kKeptClusterBytesMax) return;
  cluster->release();
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  kept_.push_back({std::move(cluster), bytes});
  while (bytes_ > kKeptClustersBytesMax) {
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

void ClusterPool::clear() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  bytes_ = 0;
}

}  // namespace gpuemu::emulator
