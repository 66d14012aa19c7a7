// cp.async.bulk and cp.reduce.async.bulk: one lane copies a contiguous range of memory.
#include "runtime/emulator/steps/bulk.h"

#include <cstring>

#include "common/base/text.h"
#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint64_t kBulkAlign = 16;

struct BulkLane {
  uint32_t lane;
  uint64_t to, from, bytes, barrier;
};

/// Builds a report about a global address, without the message.
CheckReport report_at(Warp& warp, uint32_t lane, uint64_t address) {
  const Allocation* const near = warp.launch->memory->nearest(address);
  return {.lane = lane,
          .tensor = near != nullptr ? near->name : "",
          .byte_offset = near != nullptr ? static_cast<int64_t>(address - near->base) : 0};
}

bool global_end(Warp& warp, const Step& step, uint32_t lane, uint64_t address, uint64_t bytes) {
  if (address % kBulkAlign == 0) return has_memory(warp, step, lane, address, bytes);
  CheckReport incident = report_at(warp, lane, address);
  incident.kind = DeviceFindingKind::Misaligned;
  incident.message =
      fmt::format("copies from or to {:#x}, which is not a multiple of {}", address, kBulkAlign);
  report_check(warp, step, std::move(incident));
  return false;
}

std::optional<BulkEnd> end_of(Warp& warp, const Step& step, const BulkLane& with, bool source) {
  const uint64_t address = source ? with.from : with.to;
  const auto& bulk = step.operands.get<BulkOperands>();
  if (!(source ? bulk.from_shared : bulk.to_shared)) {
    if (!global_end(warp, step, with.lane, address, with.bytes)) return std::nullopt;
    return BulkEnd{nullptr, address};
  }
  const auto at = locate_shared(warp, step, address, with.lane, with.bytes);
  if (!at) return std::nullopt;
  return BulkEnd{at->block, at->offset};
}

bool size_is_right(Warp& warp, const Step& step, const BulkLane& with) {
  if (with.bytes % kBulkAlign == 0) return true;
  report_check(warp, step,
               {.kind = DeviceFindingKind::Misaligned,
                .message = fmt::format("copies {} bytes; the size has to be a multiple of {}",
                                       with.bytes, kBulkAlign),
                .lane = with.lane});
  return false;
}

bool is_asynchronous(const ptx::Instruction* instruction) {
  return instruction != nullptr &&
         (instruction->opcode == ptx::Opcode::Cp || instruction->has(ptx::Modifier::Async));
}

/// Reports a copy from shared memory without a proxy fence after earlier stores: copies use the
/// asynchronous proxy and can overtake ordinary stores.
void check_proxy_fence(Warp& warp, const Step& step, const BulkCopy& copy) {
  const Block& block = *warp.block;
  uint32_t known_site = 0;
  for (uint64_t at = copy.from.at / 4 * 4; at < copy.from.at + copy.extent(); at += 4) {
    const RaceWord word = block.shared.race_history.load(at / 4);
    if (word.write >> kWarpBits < block.shared.proxy_epoch || word.write_site == known_site) {
      continue;
    }
    known_site = word.write_site;
    const ptx::Instruction* store = instruction_at(*warp.launch->inputs.program, word.write_site);
    if (is_asynchronous(store)) continue;
    report_check(
        warp, step,
        {.kind = DeviceFindingKind::RaceShared,
         .message = fmt::format(
             "copies shared memory {} that was stored ({}) without fence.proxy.async after it: "
             "the copy may see what was there before; put fence.proxy.async.shared::cta behind "
             "the stores, before the barrier",
             shared_place(warp, at, store != nullptr ? element_bytes(*store) : 0),
             store != nullptr ? describe(warp.launch->inputs.program->module, *store) : "a store"),
         .lane = copy.lane,
         .byte_offset = static_cast<int64_t>(at),
         .other = store});
    return;
  }
}

}  // namespace

bool has_memory(Warp& warp, const Step& step, uint32_t lane, uint64_t address, uint64_t bytes) {
  Memory& memory = *warp.launch->memory;
  if (memory.find(address, bytes) != nullptr) return true;
  const Allocation* const near = memory.nearest(address);
  CheckReport incident = report_at(warp, lane, address);
  incident.kind = DeviceFindingKind::OutOfBounds;
  incident.message =
      near == nullptr
          ? fmt::format("copies {} bytes at {:#x}, which belongs to no tensor", bytes, address)
          : fmt::format("copies {} bytes at byte offset {} of '{}', which has {}", bytes,
                        incident.byte_offset, near->name, counted(near->bytes, "byte"));
  report_check(warp, step, std::move(incident));
  return false;
}

void note_end(Warp& warp, const Step& step, const BulkCopy& copy, const BulkEnd& end, Access access,
              uint32_t width) {
  const bool global = end.block == nullptr;
  if (global ? warp.launch->races == nullptr
             : end.block != warp.block || warp.block->shared.race_history.empty()) {
    return;
  }
  if (!global && access == Access::Load) check_proxy_fence(warp, step, copy);
  const uint32_t all = warp.masks.running, lane = uint32_t{1} << copy.lane;
  warp.masks.running = lane;
  uint64_t address[kLanes] = {};
  for (uint64_t at = 0; at < copy.extent(); at += width) {
    address[copy.lane] = end.at + at;
    if (global) {
      warp.launch->races->note(warp, step, address, width, access, lane);
    } else {
      note_shared(warp, step, address, width, access, lane, 0);
    }
  }
  warp.masks.running = all;
}

void note_target(Warp& warp, const Step& step, const BulkCopy& copy) {
  note_end(warp, step, copy, copy.to, copy.combine != nullptr ? Access::Atomic : Access::Store,
           kBulkAlign);
  if (copy.to.block != nullptr && warp.launch->inputs.checks.init) {
    std::memset(copy.to.block->shared.defined.data() + copy.to.at, kInFlight, copy.extent());
  }
}

void combine_elements(const BulkCopy& copy, std::byte* to, const std::byte* from) {
  const uint32_t width = ptx::byte_size(copy.reduction.type);
  const bool global = copy.to.block == nullptr;
  for (uint64_t at = 0; at < copy.bytes; at += width) {
    uint64_t operand = 0;
    std::memcpy(&operand, from + at, width);
    update_atomically(copy.reduction, to + at, operand, global);
  }
}

void multicast(Warp& warp, const Step& step, const BulkCopy& copy, uint32_t blocks) {
  for (uint32_t left = blocks & 0xffff; left != 0; left &= left - 1) {
    Block* block = block_of(warp, uint64_t{first_lane(left) + 1} << kRankShift);
    if (block == nullptr) {
      report_check(warp, step,
                   {.kind = DeviceFindingKind::OutOfBounds,
                    .message = fmt::format("copies to block {} of the cluster, which has fewer",
                                           first_lane(left)),
                    .lane = copy.lane});
      continue;
    }
    BulkCopy one = copy;
    one.to.block = block;
    note_target(warp, step, one);
    add_copy(warp, *block, std::move(one));
  }
}

void add_to_group(Warp& warp, BulkCopy copy) {
  WarpCopies& mine = copies_of(warp);
  copy.group = mine.bulk_commits[copy.lane];
  mine.bulk.push_back(std::move(copy));
}

namespace {
void start(Warp& warp, const Step& step, const BulkLane& with) {
  if (!size_is_right(warp, step, with) || with.bytes == 0) return;
  const auto to = end_of(warp, step, with, false), from = end_of(warp, step, with, true);
  if (!to || !from) return;
  BulkCopy copy;
  copy.source = &instruction_of(warp, step);
  copy.lane = with.lane;
  copy.to = *to;
  copy.from = *from;
  copy.bytes = with.bytes;
  const auto& bulk = step.operands.get<BulkOperands>();
  copy.combine = bulk.reduces ? combine_elements : nullptr;
  copy.reduction = bulk.reduction;
  note_end(warp, step, copy, copy.from, Access::Load, kBulkAlign);
  if (warp.block->counters != nullptr) {
    for (const BulkEnd* end : {&copy.from, &copy.to}) {
      count_row(warp, step, end->block != nullptr ? ptx::Space::Shared : ptx::Space::Global,
                end->at, copy.bytes);
    }
  }
  if (!bulk.to_shared) {
    note_target(warp, step, copy);
    if (warp.launch->inputs.checks.race) {
      const std::byte* source = from->block->shared.bytes.data() + from->at;
      copy.seen.assign(source, source + with.bytes);
    }
    return add_to_group(warp, std::move(copy));
  }
  const auto barrier = locate_mbarrier(warp, step, {with.lane, with.barrier});
  if (!barrier) return;
  copy.barrier = barrier->offset;
  if (bulk.is_multicast) {
    return multicast(warp, step, copy, warp.u32(warp.function.lists[bulk.list])[with.lane]);
  }
  note_target(warp, step, copy);
  add_copy(warp, *barrier->block, std::move(copy));
}
}  // namespace

void copy_bulk(Warp& warp, const Step& step, const BulkOperands&) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    start(warp, step,
          {.lane = lane,
           .to = warp.u64(step.src[0])[lane],
           .from = warp.u64(step.src[1])[lane],
           .bytes = warp.u32(step.src[2])[lane],
           .barrier = warp.u64(step.src[3])[lane]});
  }
}

void prefetch_bulk(Warp& warp, const Step& step) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const uint64_t from = warp.u64(step.src[0])[lane], bytes = warp.u32(step.src[1])[lane];
    if (size_is_right(warp, step,
                      {.lane = lane, .to = 0, .from = from, .bytes = bytes, .barrier = 0})) {
      global_end(warp, step, lane, from, bytes);
    }
  }
}

void commit_bulk(Warp& warp, const Step&) {
  WarpCopies& mine = copies_of(warp);
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    ++mine.bulk_commits[first_lane(left)];
  }
}

void wait_bulk(Warp& warp, const Step&, const GroupsOperands& groups) {
  if (warp.copies == nullptr) return;
  std::vector<BulkCopy>& all = warp.copies->bulk;
  for (size_t i = 0; i < all.size();) {
    const bool mine = (warp.masks.running >> all[i].lane & 1) != 0;
    const uint64_t last = all[i].group + groups.in_flight;
    if (!mine || last >= warp.copies->bulk_commits[all[i].lane]) {
      ++i;
      continue;
    }
    BulkCopy copy = std::move(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    arrive(&warp, copy);
  }
}

}  // namespace gpuemu::emulator::steps
