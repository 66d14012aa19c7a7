#include "runtime/emulator/machine/warp.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/limits.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/thread_scheduler.h"

namespace gpuemu::emulator {
void Warp::start(uint32_t warp_index, uint32_t lanes) {
  index = warp_index;
  masks.exists = lanes >= kLanes ? kNone : (uint32_t{1} << lanes) - 1;
  masks.alive = masks.exists;
  control.state = WarpState::Running;
  step = nullptr;
  control.depth = 0;
  control.stack.clear();
  control.suspended.clear();
  copies.reset();
  cluster_arrival.pending = false;
  alone_ = false;
  registers.carry = 0;
  ordering.clock.restart();
  ordering.segment = 0;
  ordering.rows.event = RowTags::kStale;
  ordering.fenced = false;
  tracking.active = launch->inputs.checks.nonfinite || launch->observer != nullptr;
  tracking.definedness.clear();
  tracking.nonfinite.clear();
  local.stride = 0;
  masks.active = masks.exists;
  masks.running = masks.exists;
  if (!local.defined.empty()) std::fill(local.defined.begin(), local.defined.end(), uint8_t{0});
  local.sources.clear();
}

void Warp::give_back_frame() {
  if (control.frames.empty() || control.frames[0].frame == nullptr ||
      control.frames[0].frame.use_count() > 1) {
    return;
  }
  block->frames.push_back(std::move(control.frames[0].frame));
}

void Warp::enter(const Code& code, const CallSite* site) {
  const uint32_t lanes = masks.running;
  const uint32_t local_base = control.depth == 0 ? 0 : local_end();
  if (control.frames.size() == control.depth) control.frames.emplace_back();
  CallFrame& level = control.frames[control.depth];
  if (level.frame == nullptr || level.frame.use_count() > 1) {
    level.frame = control.depth == 0 ? block->take_frame(index) : std::make_shared<Frame>();
  }
  Frame& next = *level.frame;
  if (control.depth > 0 && !may_enter(code, local_base)) return;
  ++control.depth;
  if (next.storage_bytes < code.frame_bytes) {
    next.storage.reset(new std::byte[code.frame_bytes + 64]);
    next.storage_bytes = code.frame_bytes;
    next.registers =
        next.storage.get() + (64 - reinterpret_cast<uintptr_t>(next.storage.get()) % 64) % 64;
    next.code = nullptr;
  }
  if (next.code != &code || next.is_of_earlier_launch || next.warp != index ||
      next.block != block->position.linear) {
    fill_frame(next, code);
  }
  load_function();
  next.params.resize(size_t{code.param_bytes} * kLanes);
  next.local_base = local_base;
  next.stack_ends.reset();
  next.site = site;
  level.stack_base = static_cast<uint32_t>(control.stack.size());
  Definedness::enter(*this, next);
  ensure_local(local_base + code.local_bytes);
  control.stack.push_back({0, lanes, kNone, lanes});
  load_top();
}

/// Returns whether one more call fits the limits; reports a finding otherwise.
bool Warp::may_enter(const Code& code, uint32_t local_base) {
  std::string what;
  if (control.depth >= kCallDepthMax) {
    what = fmt::format("calls nest deeper than {}", kCallDepthMax);
  } else if (local_base + code.local_bytes > kLocalBytesMax) {
    what = fmt::format("{} calls need more than {} bytes of local memory per thread", control.depth,
                       kLocalBytesMax);
  } else if (!charge(*control.frames[control.depth].frame, code)) {
    what = fmt::format("the calls in progress need more than {} bytes of registers",
                       launch->progress.call_bytes_max);
  }
  if (what.empty()) return true;
  report_check(*this, *step,
               {.kind = DeviceFindingKind::StackOverflow,
                .message = what + "; look for a recursion without an end",
                .lane = static_cast<uint32_t>(std::countr_zero(masks.running | 0x80000000u))});
  return false;
}

void Warp::forget_order() {
  block->next_epoch();
  ordering.clock.restart();
}

bool Warp::charge(Frame& frame, const Code& code) {
  const uint64_t needed = code.frame_bytes + uint64_t{code.param_bytes} * kLanes;
  if (frame.charged_to != launch->progress.call_bytes) {
    frame.charged = 0;  // It was charged to an earlier launch.
  }
  if (needed <= frame.charged) return true;
  const uint64_t more = needed - frame.charged;
  if (launch->progress.call_bytes->fetch_add(more) + more > launch->progress.call_bytes_max) {
    *launch->progress.call_bytes -= more;
    return false;
  }
  frame.charged_to = launch->progress.call_bytes;
  frame.charged = needed;
  return true;
}

/// Constants and the prologue's results stay valid while the frame serves the same function, warp
/// and block. The prologue runs for all 32 lanes; values of lanes without a thread are never read.
void Warp::fill_frame(Frame& frame, const Code& code) {
  // A launch begins with zeros in registers that are used before they are written.
  const bool fresh =
      frame.code != &code || (frame.is_of_earlier_launch && !code.used_early.empty());
  const bool first = fresh || frame.is_of_earlier_launch;
  registers.data = frame.registers;
  function.lists = code.lists.data();
  if (fresh) {
    std::memset(registers.data, 0, code.frame_bytes);
    pred(kTrueOffset) = kNone;
    for (const Constant& constant : code.constants) {
      if (constant.wide) {
        std::fill_n(u64(constant.offset), kLanes, constant.bits);
      } else {
        std::fill_n(u32(constant.offset), kLanes, static_cast<uint32_t>(constant.bits));
      }
    }
  }
  const uint32_t lanes = std::exchange(masks.running, kNone);
  const auto compute = [this](const std::vector<Step>& values) {
    for (const Step& each : values) each.run(*this, each);
  };
  if (first) compute(code.prologue.once);
  if (first || frame.warp != index) compute(code.prologue.per_warp);
  if (first || frame.block != block->position.linear) compute(code.prologue.per_block);
  masks.running = lanes;
  frame.is_of_earlier_launch = false;
  frame.code = &code;
  frame.warp = index;
  frame.block = block->position.linear;
}

uint32_t Warp::local_end() {
  const Frame& own = frame();
  if (own.stack_ends != nullptr) return std::ranges::max(*own.stack_ends);
  return own.local_base + own.code->local_bytes;
}

void Warp::ensure_local(uint32_t bytes) {
  if (bytes <= local.stride) return;
  bytes = std::min(bytes + (bytes >= 4096 ? bytes : 0), kLocalBytesMax);
  std::vector<std::byte> grown(size_t{bytes} * kLanes);
  std::vector<uint8_t> defined(size_t{bytes} * kLanes);
  for (uint32_t lane = 0; lane < kLanes && local.stride != 0; ++lane) {
    std::memcpy(&grown[size_t{lane} * bytes], &local.storage[size_t{lane} * local.stride],
                local.stride);
    std::memcpy(&defined[size_t{lane} * bytes], &local.defined[size_t{lane} * local.stride],
                local.stride);
  }
  local.storage = std::move(grown);
  local.defined = std::move(defined);
  local.stride = bytes;
  local.data = local.storage.data();
  local.sources.clear();
}

void Warp::load_top() {
  const ReconvergenceEntry& top = control.stack.back();
  pc = top.pc;
  masks.active = top.mask;
  control.reconverge = top.reconverge;
}

void Warp::load_function() {
  registers.data = frame().registers;
  function.steps = frame().code->steps.data();
  function.lists = frame().code->lists.data();
  const auto& straight_lines = frame().code->compiled[launch->inputs.accesses].at;
  function.compiled = straight_lines.empty() ? nullptr : straight_lines.data();
}

/// Drops stack entries without lanes, and returns from functions that all lanes have left.
void Warp::settle_top() {
  while (control.depth > 0) {
    const uint32_t base = control.frames[control.depth - 1].stack_base;
    while (control.stack.size() > base && control.stack.back().mask == 0) control.stack.pop_back();
    if (control.stack.size() > base) return load_top();
    --control.depth;
    if (control.depth == 0) break;
    load_function();
  }
  if (!control.suspended.empty()) return resume_path(next_path());
  control.state = WarpState::Done;
  stop_slice();
}

void Warp::pop_reconverged() {
  control.stack.pop_back();
  settle_top();
}

void Warp::diverge(uint32_t taken, uint32_t target, uint32_t meet) {
  const uint32_t rest = masks.active & ~taken;
  if (rest == 0) {
    pc = target;
    return;
  }
  const uint32_t next = pc;
  if (meet == kNone) meet = control.reconverge;
  if (meet != kNone && meet != control.reconverge) {
    control.stack.back().pc = meet;
    control.stack.back().mask = control.stack.back().due = masks.active;
  } else {
    control.stack.pop_back();
  }
  const ReconvergenceEntry stays{next, rest, meet, rest}, jumps{target, taken, meet, taken};
  const bool swaps = block->scheduler != nullptr && block->scheduler->swaps_paths();
  for (const ReconvergenceEntry& path : {swaps ? jumps : stays, swaps ? stays : jumps}) {
    if (path.pc != meet) control.stack.push_back(path);
  }
  settle_top();
}

void Warp::split_for_call(uint32_t lanes) {
  // All lanes rejoin at the next instruction. The call's entry is above it and returns to it.
  save_top();
  if (lanes != masks.active) control.stack.push_back({pc, lanes, pc, lanes});
}

void Warp::split_for_calls(uint32_t lanes, uint32_t later) {
  save_top();
  const uint32_t again = pc - 1;
  control.stack.push_back({again, later, pc, later});
  control.stack.push_back({pc, lanes, pc, lanes});
}

void Warp::leave(uint32_t lanes) {
  if (control.depth <= 1) return exit_lanes(lanes);
  save_top();
  const Frame& own = frame();
  if (own.site != nullptr) {
    Frame& caller = *control.frames[control.depth - 2].frame;
    for (size_t i = 0; i < own.site->results.size() && i < own.code->results.size(); ++i) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1) != 0) {
          std::memcpy(
              &caller.params[size_t{lane} * caller.code->param_bytes + own.site->results[i].offset],
              &own.params[size_t{lane} * own.code->param_bytes + own.code->results[i].offset],
              std::min(own.code->results[i].bytes, own.site->results[i].bytes));
        }
      }
    }
  }
  for (size_t i = control.frames[control.depth - 1].stack_base; i < control.stack.size(); ++i) {
    control.stack[i].mask &= ~lanes;
  }
  settle_top();
}

void Warp::exit_lanes(uint32_t lanes) {
  save_top();
  block->threads.live -= lanes_in(masks.alive & lanes);
  masks.alive &= ~lanes;
  for (ReconvergenceEntry& entry : control.stack) entry.mask &= ~lanes;
  forget_due(lanes);
  settle_top();
}

void Warp::wait_at_barrier(uint32_t id) {
  control.state = WarpState::AtBarrier;
  control.barrier = id;
  stop_slice();
}

/// Updates the counters once for the whole straight line, because its instructions change neither
/// lanes nor control flow.
inline void Warp::run_straight_line(const Step* next) {
  const Step* const end = next + next->straight_line.steps;
  pc += next->straight_line.steps;
  remaining -= std::min<uint64_t>(remaining, next->straight_line.steps - 1);
  executed += uint64_t{lanes_in(masks.active)} * next->straight_line.instructions;
  step = end - 1;
  run_steps(next, end);
}

/// Executes the rest of a straight line that is already counted. Ends early where an undefined
/// value arises, because from there on each instruction is tracked.
inline void Warp::run_steps(const Step* next, const Step* end) {
  run_end_ = end;
  do {
    next->run(*this, *next);
  } while (++next != run_end_);
  if (next == end) return;
  step = next - 1;
  pc -= static_cast<uint32_t>(end - next);
  uint64_t left = 0;
  for (; next != end; ++next) left += next->counted;
  executed -= uint64_t{lanes_in(masks.active)} * left;
}

void Warp::run_compiled(JitFunction steps) {
  masks.running = masks.active;
  const Step* next = steps(*this, {.progress = this,
                                   .registers = registers.data,
                                   .cache = registers.allocations,
                                   .shared = block->shared.bytes.data(),
                                   .shared_bytes = launch->inputs.shared_bytes,
                                   .shared_defined = block->shared.defined.data(),
                                   .races = &block->shared.race_history.tags(),
                                   .lane_event = &ordering.clock.counts().now,
                                   .rows = &ordering.rows,
                                   .warp_tag = index + 1});
  if (next == nullptr) return;
  if (const Step* const end = function.steps + pc; next != end) run_steps(next, end);
}

bool Warp::has_undefined() const {
  return std::ranges::any_of(
      control.frames.begin(), control.frames.begin() + control.depth, [](const CallFrame& level) {
        return std::ranges::any_of(level.frame->undefined.lanes,
                                   [](uint32_t lanes) { return lanes != 0; });
      });
}

/// Does the same as run(), one instruction at a time.
void Warp::run_observed() {
  constexpr uint64_t kLookEvery = 64;
  StepObserver* const observer = launch->observer;
  const bool always = launch->inputs.checks.nonfinite || observer != nullptr;
  while (remaining != 0) {
    // Checked before the instruction is counted, because run() continues with it.
    if (remaining % kLookEvery == 1 && !always && !has_undefined()) {
      tracking.active = false;
      return;
    }
    --remaining;
    if (pc == control.reconverge) {
      pop_reconverged();
      continue;
    }
    const Step& next = function.steps[pc++];
    masks.running = masks.active & (pred(next.guard.predicate) ^ next.guard.flip);
    executed += uint64_t{lanes_in(masks.running)} * next.counted;
    step = &next;
    if (next.counted != 0) {
      tracking.definedness.before(*this, next);
      if (launch->inputs.checks.nonfinite) tracking.nonfinite.before(*this, next);
    }
    if (masks.running == 0) continue;
    if (observer != nullptr) observer->before(*this, next);
    const uint32_t entered = control.depth;
    next.run(*this, next);
    if (control.depth == entered) tracking.definedness.after(*this, next);
  }
}

void Warp::run(uint64_t slice) {
  if (control.depth == 0) enter(*launch->inputs.entry, nullptr);
  remaining = slice;
  if (tracking.active) run_observed();
  while (remaining != 0) {
    // All lanes are together and no other lanes wait to rejoin, so compiled code need not check its
    // branch targets.
    if (function.compiled != nullptr && masks.active == kNone && control.reconverge == kNone &&
        function.compiled[pc] != nullptr) {
      run_compiled(function.compiled[pc]);
      if (remaining == 0) break;  // Otherwise the next step is executed by its handler.
    }
    --remaining;
    if (pc == control.reconverge) {
      pop_reconverged();
      continue;
    }
    const Step* next = function.steps + pc;
    if (next->straight_line.steps != 0) {
      masks.running = masks.active;
      run_straight_line(next);
      continue;
    }
    ++pc;
    masks.running = masks.active & (pred(next->guard.predicate) ^ next->guard.flip);
    step = next;
    if (masks.running == 0) continue;
    executed += uint64_t{lanes_in(masks.running)} * next->counted;
    const BranchOperands* const jump = next->direct_branch();
    if (jump != nullptr && masks.running == masks.active) {
      pc = jump->target;
    } else {
      next->run(*this, *next);
    }
  }
  tracking.definedness.catch_up(*this);
  if (control.stack.size() > kWaitingMax) {
    report_check(*this, *step,
                 {.kind = DeviceFindingKind::StackOverflow,
                  .message = fmt::format(
                      "more than {} groups of threads wait for others to meet them", kWaitingMax)});
  }
}

Dim3 thread_of(const Warp& warp, uint32_t lane) {
  const Dim3 size = warp.launch->inputs.config->block;
  const uint32_t linear = warp.index * kLanes + lane;
  if (linear < size.x) return {linear, 0, 0};
  return {linear % size.x, linear / size.x % size.y, linear / (size.x * size.y)};
}

}  // namespace gpuemu::emulator
