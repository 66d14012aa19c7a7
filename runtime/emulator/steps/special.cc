// The names of special registers.
#include <map>

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
      // The fourth part of what has three.
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

}  // namespace gpuemu::emulator::steps
