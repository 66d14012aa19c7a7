// Control flow, parameters, special registers and barriers.
#include <algorithm>
#include <cstring>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/steps/externals.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }
}  // namespace

void unsupported(Warp& warp, const Ins& ins) {
  report(warp, ins,
         {.kind = DeviceFindingKind::UnsupportedInstruction,
          .message = ins.aux != 0
                         ? warp.code().refusals[ins.aux - 1]
                         : "the emulator does not support this instruction yet; use backend = "
                           "\"cuda\", or compile for arch = \"sm_80\"",
          .lane = first_lane(warp.mask)});
}
void nothing(Warp&, const Ins&) {}
/// Orders nothing by itself: other threads learn of it by the next atomic or volatile access
/// (order_before in machine/races.cc).
void fence(Warp& warp, const Ins& ins) {
  if ((ins.flags & kFenceOfBlock) == 0 && warp.launch->races != nullptr)
    warp.launch->races->fence(warp);
  warp.fenced = true;
  if ((ins.flags & kFenceOfProxies) != 0) {
    warp.block->next_epoch();
    warp.block->proxy_epoch = warp.block->epoch;
  }
}

namespace {
/// Lanes that stay at an aligned barrier which the others jump over. Where these exit behind it,
/// nothing else would tell that from an early return.
void report_skipped_barrier(Warp& warp, const Ins& ins) {
  const uint32_t stay = warp.active & ~warp.mask;
  report(warp, ins,
         {.kind = DeviceFindingKind::BarrierDivergence,
          .message = fmt::format("only {} of the warp's {} running threads reach the barrier; the "
                                 "others skip it",
                                 std::popcount(stay), std::popcount(warp.alive)),
          .lane = first_lane(stay),
          .at = &warp.code().source->body[ins.origin + 1]});
}
}  // namespace

void branch(Warp& warp, const Ins& ins) {
  if ((ins.flags & kSkipsBarrier) != 0 && warp.launch->checks.sync && warp.mask != warp.active)
    report_skipped_barrier(warp, ins);
  warp.diverge(warp.mask, ins.aux, static_cast<uint32_t>(ins.imm));
}

void branch_indexed(Warp& warp, const Ins& ins) {
  const uint32_t* index = warp.u32(ins.src[0]);
  const uint32_t lead = index[first_lane(warp.mask)];
  uint32_t same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    same |= static_cast<uint32_t>((warp.mask >> lane & 1) != 0 && index[lane] == lead) << lane;
  if (lead >= ins.aux)
    return report(warp, ins,
                  {.kind = DeviceFindingKind::Trap,
                   .message = "branch index beyond its targets",
                   .lane = first_lane(warp.mask)});
  const uint32_t target = warp.lists[ins.list + lead];
  // The other lanes execute this instruction again and choose their own target.
  if (same != warp.active) warp.pc -= 1;
  warp.diverge(same, target, static_cast<uint32_t>(ins.imm));
}

/// The stack is ready for a call of `lanes`.
void enter_callee(Warp& warp, uint32_t lanes, const CallSite& site, const Code& callee) {
  const Frame& from = warp.frame();
  warp.mask = lanes;
  const uint32_t before = warp.depth;
  warp.enter(callee, &site);
  if (warp.depth == before) return;  // Too deep: the launch ends.
  Frame& to = warp.frame();
  for (size_t i = 0; i < site.arguments.size() && i < callee.params.size(); ++i)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if ((lanes >> lane & 1) != 0)
        std::memcpy(&to.params[size_t{lane} * callee.param_bytes + callee.params[i].offset],
                    &from.params[size_t{lane} * from.code->param_bytes + site.arguments[i].offset],
                    std::min(callee.params[i].bytes, site.arguments[i].bytes));
}

void call(Warp& warp, const Ins& ins) {
  const CallSite& site = warp.code().calls[ins.aux];
  if (site.callee != nullptr) {
    warp.split_for_call(warp.mask);
    return enter_callee(warp, warp.mask, site, *site.callee);
  }
  call_external(warp, ins, site);
}

void call_indirect(Warp& warp, const Ins& ins) {
  const uint64_t* pointer = warp.u64(ins.src[0]);
  const uint64_t target = pointer[first_lane(warp.mask)];
  uint32_t same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    same |= static_cast<uint32_t>((warp.mask >> lane & 1) != 0 && pointer[lane] == target) << lane;
  const auto& callable = warp.launch->program->callable;
  if (target == 0 || target > callable.size())
    return report(warp, ins,
                  {.kind = DeviceFindingKind::Trap,
                   .message = fmt::format("call of {:#x}, which is not a function", target),
                   .lane = first_lane(warp.mask)});
  const CallSite& site = warp.code().calls[ins.aux];
  if (same != warp.mask)
    warp.split_for_calls(same, warp.mask & ~same);
  else
    warp.split_for_call(same);
  enter_callee(warp, same, site, *callable[target - 1]);
}

void ret(Warp& warp, const Ins&) { warp.leave(warp.mask); }
void exit(Warp& warp, const Ins&) { warp.exit_lanes(warp.mask); }
void trap(Warp& warp, const Ins& ins) {
  report(warp, ins,
         {.kind = DeviceFindingKind::Trap,
          .message = "the kernel executed trap",
          .lane = first_lane(warp.mask)});
}

void local_address(Warp& warp, const Ins& ins) {
  const uint64_t value = static_cast<uint64_t>(ins.imm) + warp.frame().local_base;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if (ins.wide != 0)
      warp.u64(ins.dst)[lane] = value;
    else
      warp.u32(ins.dst)[lane] = static_cast<uint32_t>(value);
}

void store_word(Warp& warp, const Ins& ins, uint32_t reg, uint32_t lane, const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, ins.aux);
  if ((ins.flags & 1) != 0 && ins.aux < 8)
    value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * ins.aux)) >>
                                  (64 - 8 * ins.aux));
  if (ins.wide != 0)
    warp.u64(reg)[lane] = value;
  else
    warp.u32(reg)[lane] = static_cast<uint32_t>(value);
}

void load_param(Warp& warp, const Ins& ins) {
  const auto& params = warp.launch->params;
  const uint32_t* list = warp.lists + ins.list;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.mask >> lane & 1) == 0) continue;
    uint64_t at = static_cast<uint64_t>(ins.imm);
    if (ins.src[0] != kNone) at += warp.u64(ins.src[0])[lane];
    address[lane] = at;
    for (uint32_t element = 0; element < ins.count; ++element, at += ins.aux) {
      if (list[element] == kNone) continue;
      if (at > params.size() || ins.aux > params.size() - at)
        return report(warp, ins,
                      {.kind = DeviceFindingKind::OutOfBounds,
                       .message = fmt::format("reads parameter byte {} of {}", at, params.size()),
                       .lane = lane});
      store_word(warp, ins, list[element], lane, params.data() + at);
    }
  }
  note_param_gaps(warp, ins, address, ins.aux * ins.count, warp.mask);
}

namespace {
/// Start of the executed access in every lane's parameter area; kNone when it leaves the area.
uint32_t frame_param_offset(Warp& warp, const Ins& ins) {
  const uint64_t area = warp.code().param_bytes, bytes = uint64_t{ins.aux} * ins.count;
  const auto at = static_cast<uint64_t>(ins.imm);
  if (bytes <= area && at <= area - bytes) return static_cast<uint32_t>(at);
  report(warp, ins,
         {.kind = DeviceFindingKind::OutOfBounds,
          .message = fmt::format("accesses parameter byte {} of {}", ins.imm, area),
          .lane = first_lane(warp.mask),
          .count = static_cast<uint64_t>(std::popcount(warp.mask))});
  return kNone;
}
}  // namespace

void load_frame_param(Warp& warp, const Ins& ins) {
  const uint32_t first = frame_param_offset(warp, ins);
  if (first == kNone) return;
  Frame& frame = warp.frame();
  const uint32_t* list = warp.lists + ins.list;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.mask >> lane & 1) == 0) continue;
    size_t at = size_t{lane} * frame.code->param_bytes + first;
    for (uint32_t element = 0; element < ins.count; ++element, at += ins.aux)
      store_word(warp, ins, list[element], lane, &frame.params[at]);
  }
}

void store_frame_param(Warp& warp, const Ins& ins) {
  const uint32_t first = frame_param_offset(warp, ins);
  if (first == kNone) return;
  Frame& frame = warp.frame();
  const uint32_t* list = warp.lists + ins.list;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.mask >> lane & 1) == 0) continue;
    size_t at = size_t{lane} * frame.code->param_bytes + first;
    for (uint32_t element = 0; element < ins.count; ++element, at += ins.aux) {
      const uint64_t value =
          ins.wide != 0 ? warp.u64(list[element])[lane] : warp.u32(list[element])[lane];
      std::memcpy(&frame.params[at], &value, ins.aux);
    }
  }
}

void is_space(Warp& warp, const Ins& ins) {
  uint32_t result = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t address = warp.u64(ins.src[0])[lane];
    const bool elsewhere = ins.flags != 0 && block_of(warp, address) != warp.block;
    bool inside = (address & kWindowMask) == static_cast<uint64_t>(ins.imm) && !elsewhere;
    if (inside && ins.aux != kByWindow) {
      const Allocation* of = warp.launch->memory->find(address, 0);
      inside = (of != nullptr && of->constant) == (ins.aux == kIsConstant);
    }
    result |= static_cast<uint32_t>(inside) << lane;
  }
  uint32_t& out = warp.pred(ins.dst);
  out = (out & ~warp.mask) | (result & warp.mask);
}

namespace {
uint64_t cluster_value(const Warp& warp, SpecialRegister which) {
  using R = SpecialRegister;
  const Dim3 &at = warp.block->index, &size = warp.launch->cluster,
             &grid = warp.launch->config->grid;
  switch (which) {
    case R::ClusterCtaRank:
      return warp.block->rank;
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

uint64_t special_value(Warp& warp, SpecialRegister which, uint32_t lane) {
  using R = SpecialRegister;
  const LaunchConfig& config = *warp.launch->config;
  const uint32_t bit = uint32_t{1} << lane;
  const Dim3& at = warp.block->index;
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
      return config.dynamic_shared_bytes;
    case R::TotalShared:
      return (warp.launch->own_shared_bytes + kSharedGranule - 1) / kSharedGranule * kSharedGranule;
    case R::ReservedBegin:
      return reserved_shared_offset(*warp.launch);
    case R::ReservedMiddle:
      return reserved_shared_offset(*warp.launch) + kReservedSharedBytes / 2;
    case R::ReservedEnd:
      return reserved_shared_offset(*warp.launch) + kReservedSharedBytes;
    case R::EnvReg1:
      return warp.launch->workspace >> 32;
    case R::EnvReg2:
      return warp.launch->workspace & kNone;
    default:
      return cluster_value(warp, which);
  }
}

/// From lane to lane one more, or the same.
template <typename Word>
void fill_lanes(Word* out, Word first, bool ascending) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) out[lane] = first + (ascending ? lane : 0);
}
}  // namespace

void special(Warp& warp, const Ins& ins) {
  using R = SpecialRegister;
  const auto which = static_cast<R>(ins.aux);
  const Dim3& block = warp.launch->config->block;
  const bool row = which == R::TidX && block.x % kLanes == 0;
  const bool flat = (which == R::TidY && (block.y == 1 || block.x % kLanes == 0)) ||
                    (which == R::TidZ && block.z == 1);
  const bool per_lane =
      which < R::NtidX || which == R::LaneId || (which >= R::MaskEq && which <= R::MaskGt);
  const uint32_t linear = warp.index * kLanes;
  const uint64_t first =
      row && linear < block.x ? linear : special_value(warp, which, 0);  // A row of a flat block.
  if (warp.mask == kNone && (!per_lane || flat || row)) {
    if (ins.wide != 0)
      fill_lanes(warp.u64(ins.dst), first, row);
    else
      fill_lanes(warp.u32(ins.dst), static_cast<uint32_t>(first), row);
    return;
  }
  uint64_t values[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = row ? first + lane : first;
  if (per_lane && !row && !flat)
    for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = special_value(warp, which, lane);
  if (ins.wide != 0) {
    uint64_t* out = warp.u64(ins.dst);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      out[lane] = (warp.mask >> lane & 1) != 0 ? values[lane] : out[lane];
  } else {
    uint32_t* out = warp.u32(ins.dst);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      out[lane] = (warp.mask >> lane & 1) != 0 ? static_cast<uint32_t>(values[lane]) : out[lane];
  }
}

namespace {
/// Operands of a barrier on which threads must agree.
void check_barrier(Warp& warp, const Ins& ins) {
  const uint32_t lead = first_lane(warp.mask);
  const uint32_t *ids = warp.u32(ins.src[0]), *counts = warp.u32(ins.src[1]);
  const uint32_t id = ids[lead], count = counts[lead];
  const auto wrong = [&](uint32_t lane, std::string message) {
    report(warp, ins,
           {.kind = DeviceFindingKind::BarrierDivergence,
            .message = std::move(message),
            .lane = lane});
  };
  for (uint32_t left = warp.mask; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    if (ids[lane] != id)
      return wrong(lane, fmt::format("threads of one warp name different barriers, {} and {}", id,
                                     ids[lane]));
    if (counts[lane] != count)
      return wrong(lane, fmt::format("threads of one warp name different counts of barrier {}, {} "
                                     "and {}",
                                     id, count, counts[lane]));
  }
  if (id >= kBarriers)
    return wrong(lead, fmt::format("names barrier {}; a block has {}", id, kBarriers));
  if (count % kLanes != 0)
    return wrong(lead, fmt::format("counts {} threads, which is not a multiple of the warp's {}",
                                   count, kLanes));
  const Barrier& at = warp.block->barriers[id];
  if (at.arrived != 0 && at.expected != count)
    wrong(lead,
          fmt::format("counts {} threads at barrier {}, others count {}", count, id, at.expected));
}
}  // namespace

/// An aligned instruction is for all threads of the warp that have not exited before. Who went past
/// it and has exited since was one of them.
void check_aligned(Warp& warp, const Ins& ins) {
  if (!warp.launch->checks.sync || (ins.flags & kAligned) == 0) return;
  const uint32_t gone = warp.gone_past(kNone), running = warp.alive | gone;
  if (warp.mask == running) return;
  report(warp, ins,
         {.kind = DeviceFindingKind::BarrierDivergence,
          .message = fmt::format("only {} of the warp's {} running threads reach the barrier{}",
                                 std::popcount(warp.mask), std::popcount(running),
                                 gone == 0 ? " together" : "; the others go past it and exit"),
          .lane = first_lane(warp.mask)});
}

void barrier(Warp& warp, const Ins& ins) {
  // Threads that have exited count as arrived: since sm_70 a barrier waits for the others alone.
  if (warp.await_lanes(ins, kNone)) return;
  warp.sync_lanes(kNone);
  const uint32_t lead = first_lane(warp.mask);
  if (warp.launch->checks.sync) check_barrier(warp, ins);
  const uint32_t id = warp.u32(ins.src[0])[lead] & (kBarriers - 1);
  const auto kind = static_cast<BarrierKind>(ins.flags & 0x7f);
  check_aligned(warp, ins);
  Barrier& at = warp.block->barriers[id];
  const uint32_t votes = warp.pred(ins.src[2]) & warp.mask;
  if (kind >= BarrierKind::RedPopc) {
    at.reduce_count += lanes_in(votes);
    at.reduce_and &= votes == warp.mask ? 1u : 0u;
    at.reduce_or |= votes != 0 ? 1u : 0u;
  }
  warp.block->barriers_in_use |= uint32_t{1} << id;
  at.arrived += lanes_in(warp.alive);
  at.expected = warp.u32(ins.src[1])[lead];
  if (kind != BarrierKind::Arrive) warp.wait_at_barrier(id);
  warp.block->release_if_complete(id);
}

}  // namespace gpuemu::emulator::steps
