// cp.async: each lane copies a few bytes, which arrive when it waits for them.
#include "runtime/emulator/steps/async.h"

#include <algorithm>
#include <bit>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/async_races.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/mbarrier.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

/// Returns the lanes that may read the bytes they request, which can be none.
uint32_t readable_lanes(Warp& warp, const Step& step, const AsyncCopy& copy) {
  const uint32_t all = warp.masks.running;
  uint32_t whole = 0, out = 0;
  for (uint32_t left = all; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left), bit = uint32_t{1} << lane;
    if (copy.size[lane] == copy.bytes) whole |= bit;
    if (copy.size[lane] == 0) out |= bit;
    if (copy.size[lane] == copy.bytes || copy.size[lane] == 0) continue;
    // A shortened read may have any size, so its bytes are checked singly for alignment 1.
    warp.masks.running = bit;
    uint64_t byte[kLanes];
    std::ranges::fill(byte, copy.from[lane]);
    bool good = true;
    for (uint32_t i = 0; i < copy.size[lane] && good; ++i) {
      byte[lane] = copy.from[lane] + i;
      good = resolve_global(warp, step, byte, 1, Access::Load) != 0;
    }
    if (good) out |= bit;
  }
  warp.masks.running = whole;
  if (whole != 0) out |= resolve_global(warp, step, copy.from.data(), copy.bytes, Access::Load);
  warp.masks.running = all;
  return out;
}
}  // namespace

void copy_async(Warp& warp, const Step& step, const CopyOperands& operands) {
  WarpCopies& mine = copies_of(warp);
  AsyncCopy copy;
  copy.source = &instruction_of(warp, step);
  copy.site = operands.cache;
  copy.serial = ++mine.serial;
  copy.bytes = operands.bytes;
  copy.group = mine.commits;
  uint64_t to[kLanes];
  const uint32_t lead = first_lane(warp.masks.running);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t of = (warp.masks.running >> lane & 1) != 0 ? lane : lead;
    const uint64_t base = operands.is_wide ? warp.u64(step.src[0])[of] : warp.u32(step.src[0])[of];
    to[lane] = (base + static_cast<uint64_t>(operands.offset)) & ~kWindowMask;
    copy.from[lane] = warp.u64(step.src[1])[of];
    copy.size[lane] = warp.u32(step.src[2])[of];
    if (copy.size[lane] > copy.bytes) {
      report_check(
          warp, step,
          {.kind = DeviceFindingKind::OutOfBounds,
           .message = fmt::format("reads {} bytes for a copy of {}", copy.size[lane], copy.bytes),
           .lane = of});
      copy.size[lane] = copy.bytes;
    }
  }
  const uint32_t lanes = resolve_shared(warp, step, to, copy.bytes, Access::Store);
  if (warp.launch->inputs.checks.race) {
    note_shared(warp, step, to, copy.bytes, Access::Store, lanes, 0);
  }
  const uint32_t readable = readable_lanes(warp, step, copy);
  copy.step = &step;
  copy.code = &warp.code();
  copy.lanes = lanes;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    copy.to[lane] = static_cast<uint32_t>(to[lane]);
    if ((readable >> lane & 1) == 0) copy.size[lane] = 0;
    if (warp.launch->inputs.checks.init) {
      std::fill_n(warp.block->shared.defined.begin() + copy.to[lane], copy.bytes, kInFlight);
    }
  }
  note_source(warp, copy, lanes);
  if (lanes != 0) mine.copies.push_back(copy);
}

void commit_copies(Warp& warp, const Step&) {
  WarpCopies& mine = copies_of(warp);
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    ++mine.commits[first_lane(left)];
  }
}

void wait_copies(Warp& warp, const Step& step, const GroupsOperands& groups) {
  if (warp.copies == nullptr) return;
  if (!groups.waits_for_all) {
    return wait_for_copies(warp, warp.masks.running, static_cast<uint32_t>(groups.in_flight));
  }
  commit_copies(warp, step);
  wait_for_copies(warp, warp.masks.running, 0);
}

void arrive_copies(Warp& warp, const Step& step, const ArrivalOperands& operands) {
  AsyncArrival arrival;
  arrival.serial = ++copies_of(warp).serial;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const LaneAddress named = address_of(warp, step, operands, lane);
    const auto at = locate_mbarrier(warp, step, named);
    if (!at) continue;
    arrival.lanes |= uint32_t{1} << lane;
    arrival.barrier[lane] = at->offset;
    if (operands.is_expected) continue;
    // Without .noinc the arrival also adds itself to the count that the phase waits for.
    Mbarrier state = read_mbarrier(*warp.block, at->offset);
    if (state.pending == kMbarrierCountMax) {
      report_mbarrier(warp, step, named, "has no room for another arrival");
      continue;
    }
    ++state.pending;
    write_mbarrier(*warp.block, at->offset, state);
  }
  if (arrival.lanes != 0) copies_of(warp).arrivals.push_back(arrival);
}

}  // namespace gpuemu::emulator::steps
