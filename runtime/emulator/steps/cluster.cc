// Instructions for clusters: their barrier, and access to each other's shared memory.
#include "runtime/emulator/machine/cluster.h"

#include <bit>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {

void arrive_at_cluster(Warp& warp, const Step& step, const ClusterBarrierOperands& barrier) {
  if (warp.await_lanes(step, kNone)) return;
  warp.sync_lanes(kNone);
  if (barrier.is_aligned) check_aligned(warp, step);
  if (warp.cluster_arrival.pending && warp.launch->inputs.checks.sync) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::BarrierDivergence,
                  .message = "arrives at the cluster's barrier again without having waited there",
                  .lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running))});
  }
  warp.block->cluster->arrive(warp);
}

void wait_for_cluster(Warp& warp, const Step& step, const ClusterBarrierOperands& barrier) {
  if (warp.await_lanes(step, kNone)) return;
  warp.sync_lanes(kNone);
  if (barrier.is_aligned) check_aligned(warp, step);
  if (!warp.cluster_arrival.pending && warp.launch->inputs.checks.sync) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::BarrierDivergence,
                  .message = "waits at the cluster's barrier without having arrived there",
                  .lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running))});
  }
  if (warp.cluster_arrival.pending && warp.cluster_arrival.phase == warp.block->cluster->phase()) {
    warp.control.state = WarpState::AtCluster;
    return warp.stop_slice();
  }
  warp.cluster_arrival.pending = false;
}

/// src: address, rank
void map_shared(Warp& warp, const Step& step, const MapSharedOperands& map) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0) continue;
    const uint64_t address =
        map.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    const uint64_t rank = warp.u32(step.src[1])[lane] + uint64_t{1};
    const uint64_t mapped =
        map.window | (address & kSharedOffsetMask) | std::min(rank, kRankMask) << kRankShift;
    if (map.is_wide) {
      warp.u64(step.dst)[lane] = mapped;
    } else {
      warp.u32(step.dst)[lane] = static_cast<uint32_t>(mapped);
    }
  }
}

void rank_of_shared(Warp& warp, const Step& step) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0) continue;
    const uint64_t rank = warp.u64(step.src[0])[lane] >> kRankShift & kRankMask;
    warp.u32(step.dst)[lane] =
        rank == 0 ? warp.block->position.rank : static_cast<uint32_t>(rank - 1);
  }
}

}  // namespace gpuemu::emulator::steps
