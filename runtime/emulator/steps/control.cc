// Handlers of control flow, parameters and barriers.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/externals.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
void unsupported(Warp& warp, const Step& step, const RefusalOperands& refusal) {
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::UnsupportedInstruction,
       .message = refusal.reason != kNone
                      ? warp.code().refusals[refusal.reason]
                      : "the emulator does not support this instruction yet; use backend = "
                        "\"cuda\", or compile for arch = \"sm_80\"",
       .lane = first_lane(warp.masks.running)});
}
void nothing(Warp&, const Step&) {}
/// Orders nothing by itself: other threads see its effect through the next atomic or volatile
/// access (order_before in machine/cluster.cc).
void fence(Warp& warp, const Step&, const FenceOperands& fence) {
  if (!fence.of_block && warp.launch->races != nullptr) {
    warp.launch->races->fence(warp);
  }
  warp.ordering.fenced = true;
  if (fence.of_proxies) {
    warp.block->next_epoch();
    warp.block->shared.proxy_epoch = warp.block->shared.epoch;
  }
}

namespace {
/// Reports lanes that wait at an aligned barrier which the others skip. If these exit afterwards,
/// nothing else would distinguish this from an early return.
void report_skipped_barrier(Warp& warp, const Step& step) {
  const uint32_t stay = warp.masks.active & ~warp.masks.running;
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::BarrierDivergence,
       .message = fmt::format("only {} of the warp's {} running threads reach the barrier; the "
                              "others skip it",
                              std::popcount(stay), std::popcount(warp.masks.alive)),
       .lane = first_lane(stay),
       .at = &warp.code().source->body[step.origin + 1]});
}
}  // namespace

void branch(Warp& warp, const Step& step, const BranchOperands& to) {
  if (to.skips_barrier && warp.launch->inputs.checks.sync &&
      warp.masks.running != warp.masks.active) {
    report_skipped_barrier(warp, step);
  }
  warp.diverge(warp.masks.running, to.target, to.reconverge);
}

void branch_indexed(Warp& warp, const Step& step, const IndexedBranchOperands& to) {
  const uint32_t* index = warp.u32(step.src[0]);
  const uint32_t lead = index[first_lane(warp.masks.running)];
  uint32_t same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    same |= static_cast<uint32_t>((warp.masks.running >> lane & 1) != 0 && index[lane] == lead)
            << lane;
  }
  if (lead >= to.count) {
    return report_check(warp, step,
                        {.kind = DeviceFindingKind::Trap,
                         .message = "branch index beyond its targets",
                         .lane = first_lane(warp.masks.running)});
  }
  const uint32_t target = warp.function.lists[to.list + lead];
  // The other lanes execute this instruction again and use their own target.
  if (same != warp.masks.active) warp.pc -= 1;
  warp.diverge(same, target, to.reconverge);
}

/// Enters the callee for `lanes`; the stack is ready for it.
void enter_callee(Warp& warp, uint32_t lanes, const CallSite& site, const Code& callee) {
  const Frame& from = warp.frame();
  warp.masks.running = lanes;
  const uint32_t before = warp.control.depth;
  warp.enter(callee, &site);
  if (warp.control.depth == before) return;  // Too deep: the launch ends.
  Frame& to = warp.frame();
  for (size_t i = 0; i < site.arguments.size() && i < callee.params.size(); ++i) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) != 0) {
        std::memcpy(&to.params[size_t{lane} * callee.param_bytes + callee.params[i].offset],
                    &from.params[size_t{lane} * from.code->param_bytes + site.arguments[i].offset],
                    std::min(callee.params[i].bytes, site.arguments[i].bytes));
      }
    }
  }
}

void call(Warp& warp, const Step& step, const CallOperands& call) {
  const CallSite& site = warp.code().calls[call.site];
  if (site.callee != nullptr) {
    warp.split_for_call(warp.masks.running);
    return enter_callee(warp, warp.masks.running, site, *site.callee);
  }
  call_external(warp, step, site);
}

void call_indirect(Warp& warp, const Step& step, const CallOperands& call) {
  const uint64_t* pointer = warp.u64(step.src[0]);
  const uint64_t target = pointer[first_lane(warp.masks.running)];
  uint32_t same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    same |= static_cast<uint32_t>((warp.masks.running >> lane & 1) != 0 && pointer[lane] == target)
            << lane;
  }
  const auto& callable = warp.launch->inputs.program->callable;
  if (target == 0 || target > callable.size()) {
    return report_check(warp, step,
                        {.kind = DeviceFindingKind::Trap,
                         .message = fmt::format("call of {:#x}, which is not a function", target),
                         .lane = first_lane(warp.masks.running)});
  }
  const CallSite& site = warp.code().calls[call.site];
  if (same != warp.masks.running) {
    warp.split_for_calls(same, warp.masks.running & ~same);
  } else {
    warp.split_for_call(same);
  }
  enter_callee(warp, same, site, *callable[target - 1]);
}

void ret(Warp& warp, const Step&) { warp.leave(warp.masks.running); }
void exit(Warp& warp, const Step&) { warp.exit_lanes(warp.masks.running); }
void trap(Warp& warp, const Step& step) {
  report_check(warp, step,
               {.kind = DeviceFindingKind::Trap,
                .message = "the kernel executed trap",
                .lane = first_lane(warp.masks.running)});
}

void local_address(Warp& warp, const Step& step, const LocalAddressOperands& at) {
  const uint64_t value = at.offset + warp.frame().local_base;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (at.is_wide) {
      warp.u64(step.dst)[lane] = value;
    } else {
      warp.u32(step.dst)[lane] = static_cast<uint32_t>(value);
    }
  }
}

void store_word(Warp& warp, const ParamOperands& param, uint32_t reg, uint32_t lane,
                const std::byte* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, param.element_bytes);
  if (param.is_signed && param.element_bytes < 8) {
    const uint32_t unused = 64u - 8u * param.element_bytes;
    value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }
  if (param.is_wide) {
    warp.u64(reg)[lane] = value;
  } else {
    warp.u32(reg)[lane] = static_cast<uint32_t>(value);
  }
}

void load_param(Warp& warp, const Step& step, const ParamOperands& param) {
  const auto& params = warp.launch->inputs.params;
  const uint32_t* list = warp.function.lists + param.list;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0) continue;
    uint64_t at = static_cast<uint64_t>(param.offset);
    if (step.src[0] != kNone) at += warp.u64(step.src[0])[lane];
    address[lane] = at;
    for (uint32_t element = 0; element < param.count; ++element, at += param.element_bytes) {
      if (list[element] == kNone) continue;
      if (at > params.size() || param.element_bytes > params.size() - at) {
        return report_check(
            warp, step,
            {.kind = DeviceFindingKind::OutOfBounds,
             .message = fmt::format("reads parameter byte {} of {}", at, params.size()),
             .lane = lane});
      }
      store_word(warp, param, list[element], lane, params.data() + at);
    }
  }
  note_param_gaps(warp, step, address, uint32_t{param.element_bytes} * param.count,
                  warp.masks.running);
}

namespace {
/// Returns where the access starts in every lane's parameter area; kNone if it leaves the area.
uint32_t frame_param_offset(Warp& warp, const Step& step, const ParamOperands& param) {
  const uint64_t area = warp.code().param_bytes,
                 bytes = uint64_t{param.element_bytes} * param.count;
  const auto at = static_cast<uint64_t>(param.offset);
  if (bytes <= area && at <= area - bytes) return static_cast<uint32_t>(at);
  report_check(warp, step,
               {.kind = DeviceFindingKind::OutOfBounds,
                .message = fmt::format("accesses parameter byte {} of {}", param.offset, area),
                .lane = first_lane(warp.masks.running),
                .count = static_cast<uint64_t>(std::popcount(warp.masks.running))});
  return kNone;
}

/// Calls `visit` with the register, the lane and the place of each element of a parameter in the
/// frames of the running lanes.
template <typename Visit>
void each_frame_element(Warp& warp, const Step& step, const ParamOperands& param,
                        const Visit& visit) {
  const uint32_t first = frame_param_offset(warp, step, param);
  if (first == kNone) return;
  Frame& frame = warp.frame();
  const uint32_t* list = warp.function.lists + param.list;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0) continue;
    size_t at = size_t{lane} * frame.code->param_bytes + first;
    for (uint32_t element = 0; element < param.count; ++element, at += param.element_bytes) {
      visit(list[element], lane, &frame.params[at]);
    }
  }
}
}  // namespace

void load_frame_param(Warp& warp, const Step& step, const ParamOperands& param) {
  each_frame_element(warp, step, param, [&](uint32_t reg, uint32_t lane, const std::byte* at) {
    store_word(warp, param, reg, lane, at);
  });
}

void store_frame_param(Warp& warp, const Step& step, const ParamOperands& param) {
  each_frame_element(warp, step, param, [&](uint32_t reg, uint32_t lane, std::byte* at) {
    const uint64_t value = param.is_wide ? warp.u64(reg)[lane] : warp.u32(reg)[lane];
    std::memcpy(at, &value, param.element_bytes);
  });
}

void is_space(Warp& warp, const Step& step, const SpaceTestOperands& test) {
  using By = SpaceTestOperands::By;
  uint32_t result = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t address = warp.u64(step.src[0])[lane];
    const bool elsewhere = test.of_block && block_of(warp, address) != warp.block;
    bool inside = (address & kWindowMask) == test.window && !elsewhere;
    if (inside && test.by != By::Window) {
      const Allocation* of = warp.launch->memory->find(address, 0);
      inside = (of != nullptr && of->constant) == (test.by == By::IsConstant);
    }
    result |= static_cast<uint32_t>(inside) << lane;
  }
  uint32_t& out = warp.pred(step.dst);
  out = (out & ~warp.masks.running) | (result & warp.masks.running);
}

namespace {
/// Checks the operands of a barrier, on which threads must agree.
void check_barrier(Warp& warp, const Step& step) {
  const uint32_t lead = first_lane(warp.masks.running);
  const uint32_t *ids = warp.u32(step.src[0]), *counts = warp.u32(step.src[1]);
  const uint32_t id = ids[lead], count = counts[lead];
  const auto wrong = [&](uint32_t lane, std::string message) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::BarrierDivergence,
                  .message = std::move(message),
                  .lane = lane});
  };
  uint32_t differ = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    differ |= (ids[lane] ^ id) | (counts[lane] ^ count);
  }
  for (uint32_t left = differ == 0 ? 0 : warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    if (ids[lane] != id) {
      return wrong(lane, fmt::format("threads of one warp name different barriers, {} and {}", id,
                                     ids[lane]));
    }
    if (counts[lane] != count) {
      return wrong(lane, fmt::format("threads of one warp name different counts of barrier {}, {} "
                                     "and {}",
                                     id, count, counts[lane]));
    }
  }
  if (id >= kBarriers) {
    return wrong(lead, fmt::format("names barrier {}; a block has {}", id, kBarriers));
  }
  if (count % kLanes != 0) {
    return wrong(lead, fmt::format("counts {} threads, which is not a multiple of the warp's {}",
                                   count, kLanes));
  }
  const Barrier& at = warp.block->barriers.named[id];
  if (at.arrived != 0 && at.expected != count) {
    wrong(lead,
          fmt::format("counts {} threads at barrier {}, others count {}", count, id, at.expected));
  }
}
}  // namespace

/// Checks an aligned instruction, which all threads of the warp must execute unless they exited
/// before. Threads that skipped it and exited later are reported.
void check_aligned(Warp& warp, const Step& step) {
  if (!warp.launch->inputs.checks.sync) return;
  const uint32_t gone = warp.gone_past(kNone), running = warp.masks.alive | gone;
  if (warp.masks.running == running) return;
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::BarrierDivergence,
       .message = fmt::format("only {} of the warp's {} running threads reach the barrier{}",
                              std::popcount(warp.masks.running), std::popcount(running),
                              gone == 0 ? " together" : "; the others go past it and exit"),
       .lane = first_lane(warp.masks.running)});
}

void barrier(Warp& warp, const Step& step, const BarrierOperands& barrier) {
  // Threads that have exited count as arrived: since sm_70 a barrier waits only for the others.
  if (warp.await_lanes(step, kNone)) return;
  warp.sync_lanes(kNone);
  const uint32_t lead = first_lane(warp.masks.running);
  if (warp.launch->inputs.checks.sync) check_barrier(warp, step);
  const uint32_t id = warp.u32(step.src[0])[lead] & (kBarriers - 1);
  const BarrierKind kind = barrier.kind;
  if (barrier.is_aligned) check_aligned(warp, step);
  Barrier& at = warp.block->barriers.named[id];
  const uint32_t votes = warp.pred(step.src[2]) & warp.masks.running;
  if (kind >= BarrierKind::RedPopc) {
    at.reduce_count += lanes_in(votes);
    at.reduce_and &= votes == warp.masks.running ? 1u : 0u;
    at.reduce_or |= votes != 0 ? 1u : 0u;
  }
  warp.block->barriers.in_use |= uint32_t{1} << id;
  at.arrived += lanes_in(warp.masks.alive);
  at.expected = warp.u32(step.src[1])[lead];
  if (kind != BarrierKind::Arrive) warp.wait_at_barrier(id);
  warp.block->release_if_complete(id);
}

}  // namespace gpuemu::emulator::steps
