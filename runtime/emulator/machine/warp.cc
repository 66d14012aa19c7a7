#include "runtime/emulator/machine/warp.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/limits.h"
#include "runtime/emulator/machine/thread_scheduler.h"

namespace gpuemu::emulator {
void Warp::start(uint32_t warp_index, uint32_t lanes) {
  index = warp_index;
  exists = lanes >= kLanes ? kNone : (uint32_t{1} << lanes) - 1;
  alive = exists;
  state = WarpState::Running;
  ins = nullptr;
  depth = 0;
  stack.clear();
  parked.clear();
  copies.reset();
  cluster_arrived = false;
  alone_ = false;
  carry = 0;
  order.restart();
  segment = 0;
  watched = launch->checks.nonfinite || launch->follower != nullptr;
  definedness.clear();
  nonfinite.clear();
  local_stride = 0;
  active = exists;
  mask = exists;
  if (!local_defined.empty()) std::fill(local_defined.begin(), local_defined.end(), uint8_t{0});
}

void Warp::give_back_frame() {
  if (levels.empty() || levels[0].frame == nullptr || levels[0].frame.use_count() > 1) return;
  block->frames.push_back(std::move(levels[0].frame));
}

void Warp::enter(const Code& code, const CallSite* site) {
  const uint32_t lanes = mask;
  const uint32_t local_base = depth == 0 ? 0 : local_end();
  if (levels.size() == depth) levels.emplace_back();
  Level& level = levels[depth];
  if (level.frame == nullptr || level.frame.use_count() > 1)
    level.frame = depth == 0 ? block->take_frame(index) : std::make_shared<Frame>();
  Frame& next = *level.frame;
  if (depth > 0 && !may_enter(code, local_base)) return;
  ++depth;
  if (next.storage_bytes < code.frame_bytes) {
    next.storage.reset(new std::byte[code.frame_bytes + 64]);
    next.storage_bytes = code.frame_bytes;
    next.registers =
        next.storage.get() + (64 - reinterpret_cast<uintptr_t>(next.storage.get()) % 64) % 64;
    next.code = nullptr;
  }
  if (next.code != &code || next.warp != index || next.block != block->linear)
    fill_frame(next, code);
  load_function();
  next.params.resize(size_t{code.param_bytes} * kLanes);
  next.local_base = local_base;
  next.stack_ends.reset();
  next.site = site;
  level.base_depth = static_cast<uint32_t>(stack.size());
  Definedness::enter(*this, next);
  ensure_local(local_base + code.local_bytes);
  stack.push_back({0, lanes, kNone, lanes});
  load_top();
}

/// Whether one more call fits the limits; reports otherwise.
bool Warp::may_enter(const Code& code, uint32_t local_base) {
  std::string what;
  if (depth >= kCallDepthMax)
    what = fmt::format("calls nest deeper than {}", kCallDepthMax);
  else if (local_base + code.local_bytes > kLocalBytesMax)
    what = fmt::format("{} calls need more than {} bytes of local memory per thread", depth,
                       kLocalBytesMax);
  else if (!charge(*levels[depth].frame, code))
    what = fmt::format("the calls in progress need more than {} bytes of registers",
                       launch->calls_limit);
  if (what.empty()) return true;
  report(*this, *ins,
         {.kind = DeviceFindingKind::StackOverflow,
          .message = what + "; look for a recursion without an end",
          .lane = static_cast<uint32_t>(std::countr_zero(mask | 0x80000000u))});
  return false;
}

void Warp::forget_order() {
  block->next_epoch();
  order.restart();
}

bool Warp::charge(Frame& frame, const Code& code) {
  const uint64_t needed = code.frame_bytes + uint64_t{code.param_bytes} * kLanes;
  if (frame.charged_to != launch->call_bytes) frame.charged = 0;  // Of an earlier launch.
  if (needed <= frame.charged) return true;
  const uint64_t more = needed - frame.charged;
  if (launch->call_bytes->fetch_add(more) + more > launch->calls_limit) {
    *launch->call_bytes -= more;
    return false;
  }
  frame.charged_to = launch->call_bytes;
  frame.charged = needed;
  return true;
}

/// Constants and what the prologue computes stay valid as long as the frame serves the same
/// function, warp and block. The prologue runs for all lanes: nobody reads those without a thread.
void Warp::fill_frame(Frame& frame, const Code& code) {
  const bool fresh = frame.code != &code;
  regs = frame.registers;
  lists = code.lists.data();
  if (fresh) {
    std::memset(regs, 0, code.frame_bytes);
    pred(kTrueOffset) = kNone;
    for (const Constant& constant : code.constants)
      if (constant.wide)
        std::fill_n(u64(constant.offset), kLanes, constant.bits);
      else
        std::fill_n(u32(constant.offset), kLanes, static_cast<uint32_t>(constant.bits));
  }
  const uint32_t lanes = std::exchange(mask, kNone);
  const auto compute = [this](const std::vector<Ins>& values) {
    for (const Ins& each : values) each.run(*this, each);
  };
  if (fresh) compute(code.prologue.once);
  if (fresh || frame.warp != index) compute(code.prologue.per_warp);
  if (fresh || frame.block != block->linear) compute(code.prologue.per_block);
  mask = lanes;
  frame.code = &code;
  frame.warp = index;
  frame.block = block->linear;
}

uint32_t Warp::local_end() {
  const Frame& own = frame();
  if (own.stack_ends != nullptr) return std::ranges::max(*own.stack_ends);
  return own.local_base + own.code->local_bytes;
}

void Warp::ensure_local(uint32_t bytes) {
  if (bytes <= local_stride) return;
  bytes = std::min(bytes + (bytes >= 4096 ? bytes : 0), kLocalBytesMax);
  std::vector<std::byte> grown(size_t{bytes} * kLanes);
  std::vector<uint8_t> defined(size_t{bytes} * kLanes);
  for (uint32_t lane = 0; lane < kLanes && local_stride != 0; ++lane) {
    std::memcpy(&grown[size_t{lane} * bytes], &local_storage[size_t{lane} * local_stride],
                local_stride);
    std::memcpy(&defined[size_t{lane} * bytes], &local_defined[size_t{lane} * local_stride],
                local_stride);
  }
  local_storage = std::move(grown);
  local_defined = std::move(defined);
  local_stride = bytes;
  local = local_storage.data();
}

void Warp::load_top() {
  const StackEntry& top = stack.back();
  pc = top.pc;
  active = top.mask;
  reconverge = top.reconverge;
}

void Warp::load_function() {
  regs = frame().registers;
  code_begin = frame().code->ins.data();
  lists = frame().code->lists.data();
  const auto& stretches = frame().code->compiled[launch->accesses].at;
  compiled = stretches.empty() ? nullptr : stretches.data();
}

/// Drops stack entries without lanes; ends functions whose lanes all left.
void Warp::settle_top() {
  while (depth > 0) {
    const uint32_t base = levels[depth - 1].base_depth;
    while (stack.size() > base && stack.back().mask == 0) stack.pop_back();
    if (stack.size() > base) return load_top();
    --depth;
    if (depth == 0) break;
    load_function();
  }
  if (!parked.empty()) return resume(next_path());
  state = WarpState::Done;
  stop_slice();
}

void Warp::pop_reconverged() {
  stack.pop_back();
  settle_top();
}

void Warp::diverge(uint32_t taken, uint32_t target, uint32_t meet) {
  const uint32_t rest = active & ~taken;
  if (rest == 0) {
    pc = target;
    return;
  }
  const uint32_t next = pc;
  if (meet == kNone) meet = reconverge;
  if (meet != kNone && meet != reconverge) {
    stack.back().pc = meet;
    stack.back().mask = stack.back().due = active;
  } else {
    stack.pop_back();
  }
  const StackEntry stays{next, rest, meet, rest}, jumps{target, taken, meet, taken};
  const bool swaps = block->turns != nullptr && block->turns->swaps_paths();
  for (const StackEntry& path : {swaps ? jumps : stays, swaps ? stays : jumps})
    if (path.pc != meet) stack.push_back(path);
  settle_top();
}

void Warp::split_for_call(uint32_t lanes) {
  // All lanes meet at the next instruction; the call's entry lies above and returns to it.
  save_top();
  if (lanes != active) stack.push_back({pc, lanes, pc, lanes});
}

void Warp::split_for_calls(uint32_t lanes, uint32_t later) {
  save_top();
  const uint32_t again = pc - 1;
  stack.push_back({again, later, pc, later});
  stack.push_back({pc, lanes, pc, lanes});
}

void Warp::leave(uint32_t lanes) {
  if (depth <= 1) return exit_lanes(lanes);
  save_top();
  const Frame& own = frame();
  if (own.site != nullptr) {
    Frame& caller = *levels[depth - 2].frame;
    for (size_t i = 0; i < own.site->results.size() && i < own.code->results.size(); ++i)
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        if ((lanes >> lane & 1) != 0)
          std::memcpy(
              &caller.params[size_t{lane} * caller.code->param_bytes + own.site->results[i].offset],
              &own.params[size_t{lane} * own.code->param_bytes + own.code->results[i].offset],
              std::min(own.code->results[i].bytes, own.site->results[i].bytes));
  }
  for (size_t i = levels[depth - 1].base_depth; i < stack.size(); ++i) stack[i].mask &= ~lanes;
  settle_top();
}

void Warp::exit_lanes(uint32_t lanes) {
  save_top();
  block->live_threads -= lanes_in(alive & lanes);
  alive &= ~lanes;
  for (StackEntry& entry : stack) entry.mask &= ~lanes;
  forget_due(lanes);
  settle_top();
}

void Warp::wait_at_barrier(uint32_t id) {
  state = WarpState::AtBarrier;
  barrier = id;
  stop_slice();
}

/// Bookkeeping once for the whole stretch: its instructions change neither lanes nor flow.
inline void Warp::run_stretch(const Ins* next) {
  const Ins* const end = next + next->stretch;
  pc += next->stretch;
  remaining -= std::min<uint64_t>(remaining, next->stretch - 1);
  executed += uint64_t{lanes_in(active)} * next->stretch_counted;
  ins = end - 1;
  do {
    next->run(*this, *next);
  } while (++next != end);
}

void Warp::run_compiled(CompiledSteps steps) {
  mask = active;
  const Ins* next = steps(*this, {.progress = this,
                                  .registers = regs,
                                  .cache = cache,
                                  .shared = block->shared.data(),
                                  .shared_bytes = launch->shared_bytes,
                                  .shared_defined = block->shared_defined.data(),
                                  .races = &block->race.tags(),
                                  .lane_event = order.now_place(),
                                  .warp_tag = index + 1});
  if (next == nullptr) return;
  for (const Ins* end = code_begin + pc; next != end; ++next) next->run(*this, *next);
}

bool Warp::has_undefined() const {
  return std::ranges::any_of(levels.begin(), levels.begin() + depth, [](const Level& level) {
    return std::ranges::any_of(level.frame->undefined.lanes,
                               [](uint32_t lanes) { return lanes != 0; });
  });
}

/// The same as run(), one instruction at a time.
void Warp::run_watched() {
  constexpr uint64_t kLookEvery = 64;
  Follower* const follower = launch->follower;
  const bool always = launch->checks.nonfinite || follower != nullptr;
  while (remaining != 0) {
    // Before the instruction counts: run() goes on with it.
    if (remaining % kLookEvery == 1 && !always && !has_undefined()) {
      watched = false;
      return;
    }
    --remaining;
    if (pc == reconverge) {
      pop_reconverged();
      continue;
    }
    const Ins& next = code_begin[pc++];
    mask = active & (pred(next.guard) ^ next.guard_xor);
    executed += uint64_t{lanes_in(mask)} * next.counted;
    ins = &next;
    if (next.counted != 0) {
      definedness.before(*this, next);
      if (launch->checks.nonfinite) nonfinite.before(*this, next);
    }
    if (mask == 0) continue;
    if (follower != nullptr) follower->before(*this, next);
    const uint32_t entered = depth;
    next.run(*this, next);
    if (depth == entered) definedness.after(*this, next);
  }
}

void Warp::run(uint64_t slice) {
  if (depth == 0) enter(*launch->entry, nullptr);
  remaining = slice;
  if (watched) run_watched();
  while (remaining != 0) {
    // All lanes meet nobody anywhere, so that machine code need not look where it jumps.
    if (compiled != nullptr && active == kNone && reconverge == kNone && compiled[pc] != nullptr) {
      run_compiled(compiled[pc]);
      if (remaining == 0) break;  // Else the next step is for handlers.
    }
    --remaining;
    if (pc == reconverge) {
      pop_reconverged();
      continue;
    }
    const Ins* next = code_begin + pc;
    if (next->stretch != 0) {
      mask = active;
      run_stretch(next);
      continue;
    }
    ++pc;
    mask = active & (pred(next->guard) ^ next->guard_xor);
    ins = next;
    if (mask == 0) continue;
    executed += uint64_t{lanes_in(mask)} * next->counted;
    if (next->jumps && mask == active)
      pc = next->aux;
    else
      next->run(*this, *next);
  }
  definedness.catch_up(*this);
  if (stack.size() > kWaitingMax)
    report(*this, *ins,
           {.kind = DeviceFindingKind::StackOverflow,
            .message = fmt::format("more than {} groups of threads wait for others to meet them",
                                   kWaitingMax)});
}

Dim3 thread_of(const Warp& warp, uint32_t lane) {
  const Dim3 size = warp.launch->config->block;
  const uint32_t linear = warp.index * kLanes + lane;
  if (linear < size.x) return {linear, 0, 0};
  return {linear % size.x, linear / size.x % size.y, linear / (size.x * size.y)};
}

}  // namespace gpuemu::emulator
