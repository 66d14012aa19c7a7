// Special registers: their names and values.
#include <map>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {

std::optional<SpecialRegister> special_register(const std::string& name) {
  using R = SpecialRegister;
  static const std::map<std::string, R, std::less<>> kNames = {
      {"%tid.x", R::TidX},
      {"%tid.y", R::TidY},
      {"%tid.z", R::TidZ},
      {"%ntid.x", R::NtidX},
      {"%ntid.y", R::NtidY},
      {"%ntid.z", R::NtidZ},
      {"%ctaid.x", R::CtaidX},
      {"%ctaid.y", R::CtaidY},
      {"%ctaid.z", R::CtaidZ},
      {"%nctaid.x", R::NctaidX},
      {"%nctaid.y", R::NctaidY},
      {"%nctaid.z", R::NctaidZ},
      {"%laneid", R::LaneId},
      {"%warpid", R::WarpId},
      {"%nwarpid", R::NwarpId},
      {"%smid", R::SmId},
      {"%nsmid", R::NsmId},
      {"%gridid", R::GridId},
      {"%lanemask_eq", R::MaskEq},
      {"%lanemask_le", R::MaskLe},
      {"%lanemask_lt", R::MaskLt},
      {"%lanemask_ge", R::MaskGe},
      {"%lanemask_gt", R::MaskGt},
      {"%clock", R::Clock},
      {"%clock64", R::Clock64},
      {"%clock_hi", R::ClockHi},
      {"%globaltimer", R::Globaltimer},
      {"%globaltimer_lo", R::GlobaltimerLo},
      {"%globaltimer_hi", R::GlobaltimerHi},
      // The fourth component of three-component registers is zero.
      {"%tid.w", R::Zero},
      {"%ntid.w", R::Zero},
      {"%ctaid.w", R::Zero},
      {"%nctaid.w", R::Zero},
      {"%current_graph_exec", R::Zero},
      {"%aggr_smem_size", R::TotalShared},
      {"WARP_SZ", R::WarpSize},
      {"%envreg1", R::EnvReg1},
      {"%envreg2", R::EnvReg2},
      {"%cluster_ctarank", R::ClusterCtaRank},
      {"%cluster_ctaid.x", R::ClusterCtaidX},
      {"%cluster_ctaid.y", R::ClusterCtaidY},
      {"%cluster_ctaid.z", R::ClusterCtaidZ},
      {"%cluster_nctarank", R::ClusterNctaRank},
      {"%cluster_nctaid.x", R::ClusterNctaidX},
      {"%cluster_nctaid.y", R::ClusterNctaidY},
      {"%cluster_nctaid.z", R::ClusterNctaidZ},
      {"%clusterid.x", R::ClusteridX},
      {"%clusterid.y", R::ClusteridY},
      {"%clusterid.z", R::ClusteridZ},
      {"%nclusterid.x", R::NclusteridX},
      {"%nclusterid.y", R::NclusteridY},
      {"%nclusterid.z", R::NclusteridZ},
      {"%dynamic_smem_size", R::DynamicShared},
      {"%reserved_smem_offset_begin", R::ReservedBegin},
      {"%reserved_smem_offset_end", R::ReservedEnd},
      {"%reserved_smem_offset_cap", R::ReservedEnd},
      {"%reserved_smem_offset_0", R::ReservedBegin},
      {"%reserved_smem_offset_1", R::ReservedMiddle},
      {"%total_smem_size", R::TotalShared}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

namespace {
uint64_t cluster_value(const Warp& warp, SpecialRegister which) {
  using R = SpecialRegister;
  const Dim3 &at = warp.block->position.index, &size = warp.launch->inputs.cluster,
             &grid = warp.launch->inputs.config->grid;
  switch (which) {
    case R::ClusterCtaRank:
      return warp.block->position.rank;
    case R::ClusterNctaRank:
      return uint64_t{size.x} * size.y * size.z;
    case R::ClusterCtaidX:
      return at.x % size.x;
    case R::ClusterCtaidY:
      return at.y % size.y;
    case R::ClusterCtaidZ:
      return at.z % size.z;
    case R::ClusterNctaidX:
      return size.x;
    case R::ClusterNctaidY:
      return size.y;
    case R::ClusterNctaidZ:
      return size.z;
    case R::ClusteridX:
      return at.x / size.x;
    case R::ClusteridY:
      return at.y / size.y;
    case R::ClusteridZ:
      return at.z / size.z;
    case R::NclusteridX:
      return grid.x / size.x;
    case R::NclusteridY:
      return grid.y / size.y;
    case R::NclusteridZ:
      return grid.z / size.z;
    default:
      return 0;
  }
}

/// Returns registers that give the position of a thread and block, and the sizes of block and grid.
uint64_t coordinate_value(const Warp& warp, SpecialRegister which, uint32_t lane) {
  using R = SpecialRegister;
  const LaunchConfig& config = *warp.launch->inputs.config;
  const Dim3& at = warp.block->position.index;
  switch (which) {
    case R::TidX:
      return thread_of(warp, lane).x;
    case R::TidY:
      return thread_of(warp, lane).y;
    case R::TidZ:
      return thread_of(warp, lane).z;
    case R::NtidX:
      return config.block.x;
    case R::NtidY:
      return config.block.y;
    case R::NtidZ:
      return config.block.z;
    case R::CtaidX:
      return at.x;
    case R::CtaidY:
      return at.y;
    case R::CtaidZ:
      return at.z;
    case R::NctaidX:
      return config.grid.x;
    case R::NctaidY:
      return config.grid.y;
    case R::NctaidZ:
      return config.grid.z;
    default:
      return cluster_value(warp, which);
  }
}

uint64_t special_value(Warp& warp, SpecialRegister which, uint32_t lane) {
  using R = SpecialRegister;
  const LaunchInputs& inputs = warp.launch->inputs;
  const uint32_t bit = uint32_t{1} << lane;
  switch (which) {
    case R::LaneId:
      return lane;
    case R::WarpId:
      return warp.index;
    case R::NwarpId:
      return warp.block->warps.size();
    case R::NsmId:
    case R::One:
      return 1;
    case R::MaskEq:
      return bit;
    case R::MaskLe:
      return bit | (bit - 1);
    case R::MaskLt:
      return bit - 1;
    case R::MaskGe:
      return ~(bit - 1);
    case R::MaskGt:
      return ~(bit | (bit - 1));
    case R::Clock:
    case R::Clock64:
    case R::Globaltimer:
    case R::GlobaltimerLo:
      warp.block->pass_time();
      return warp.block->clock_now() * 16;
    case R::ClockHi:
    case R::GlobaltimerHi:
      return warp.block->clock_now() >> 28;
    case R::WarpSize:
      return kLanes;
    case R::DynamicShared:
      return inputs.config->dynamic_shared_bytes;
    case R::TotalShared:
      return (inputs.own_shared_bytes + kSharedGranule - 1) / kSharedGranule * kSharedGranule;
    case R::ReservedBegin:
      return reserved_shared_offset(inputs);
    case R::ReservedMiddle:
      return reserved_shared_offset(inputs) + kReservedSharedBytes / 2;
    case R::ReservedEnd:
      return reserved_shared_offset(inputs) + kReservedSharedBytes;
    case R::EnvReg1:
      return warp.launch->workspace >> 32;
    case R::EnvReg2:
      return warp.launch->workspace & kNone;
    default:
      return coordinate_value(warp, which, lane);
  }
}

/// Writes `first` to all lanes; if `ascending`, incremented by one per lane.
template <typename Word>
void fill_lanes(Word* out, Word first, bool ascending) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) out[lane] = first + (ascending ? lane : 0);
}

/// Writes one coordinate of each lane's thread. Counts instead of dividing for every lane.
void thread_lanes(const Warp& warp, SpecialRegister which, uint64_t* out) {
  using R = SpecialRegister;
  const Dim3& block = warp.launch->inputs.config->block;
  Dim3 at = thread_of(warp, 0);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    out[lane] = which == R::TidX ? at.x : which == R::TidY ? at.y : at.z;
    if (++at.x < block.x) continue;
    at.x = 0;
    if (++at.y < block.y) continue;
    at.y = 0;
    ++at.z;
  }
}
}  // namespace

void special(Warp& warp, const Step& step, const SpecialOperands& special) {
  using R = SpecialRegister;
  const auto which = special.which;
  const Dim3& block = warp.launch->inputs.config->block;
  const bool row = which == R::TidX && block.x % kLanes == 0;
  const bool flat = (which == R::TidY && (block.y == 1 || block.x % kLanes == 0)) ||
                    (which == R::TidZ && block.z == 1);
  const bool per_lane =
      which < R::NtidX || which == R::LaneId || (which >= R::MaskEq && which <= R::MaskGt);
  const uint32_t linear = warp.index * kLanes;
  const uint64_t first =
      row && linear < block.x ? linear : special_value(warp, which, 0);  // A row of a flat block.
  if (warp.masks.running == kNone && (!per_lane || flat || row)) {
    if (special.is_wide) {
      fill_lanes(warp.u64(step.dst), first, row);
    } else {
      fill_lanes(warp.u32(step.dst), static_cast<uint32_t>(first), row);
    }
    return;
  }
  uint64_t values[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = row ? first + lane : first;
  if (which <= R::TidZ && !row && !flat) {
    thread_lanes(warp, which, values);
  } else if (per_lane && !row && !flat) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = special_value(warp, which, lane);
  }
  if (special.is_wide) {
    uint64_t* out = warp.u64(step.dst);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      out[lane] = (warp.masks.running >> lane & 1) != 0 ? values[lane] : out[lane];
    }
  } else {
    uint32_t* out = warp.u32(step.dst);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      out[lane] =
          (warp.masks.running >> lane & 1) != 0 ? static_cast<uint32_t>(values[lane]) : out[lane];
    }
  }
}

}  // namespace gpuemu::emulator::steps
