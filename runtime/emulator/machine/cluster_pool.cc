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

uint64_t bytes_for(const Launch& launch) {
  return block_bytes(launch.inputs) * blocks_of_cluster(launch);
}

}  // namespace

ClusterPool::Place ClusterPool::find(const Launch& launch) {
  const uint64_t series = launch.inputs.series;
  if (series != 0) {
    const Place own = std::ranges::find(kept_, series, &Kept::series);
    if (own != kept_.end()) return own;
  }
  // If keeping another one would drop one anyway, better use one of another series.
  const bool is_full = bytes_ + bytes_for(launch) > kKeptClustersBytesMax;
  return std::ranges::find_if(kept_, [&](const Kept& kept) {
    return (kept.series == 0 || is_full) && kept.cluster->fits(launch);
  });
}

std::unique_ptr<Cluster> ClusterPool::take(Launch& launch) {
  if (!can_share(launch)) return std::make_unique<Cluster>(launch);
  Kept found;
  {
    const std::lock_guard lock(mutex_);
    if (const Place place = find(launch); place != kept_.end()) {
      found = std::move(*place);
      bytes_ -= found.bytes;
      kept_.erase(place);
    }
  }
  if (found.cluster == nullptr) return std::make_unique<Cluster>(launch);
  found.cluster->serve(launch, found.series != 0 && found.series == launch.inputs.series);
  return std::move(found.cluster);
}

void ClusterPool::keep(std::unique_ptr<Cluster> cluster, const Launch& launch) {
  const uint64_t bytes = bytes_for(launch);
  if (!can_share(launch) || bytes > kKeptClusterBytesMax) return;
  cluster->release();
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  kept_.push_back({std::move(cluster), bytes, launch.inputs.series});
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
