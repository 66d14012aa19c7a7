// The state of one warp. Instruction handlers see nothing else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/call_frame.h"
#include "runtime/emulator/machine/check_report.h"
#include "runtime/emulator/machine/definedness.h"
#include "runtime/emulator/machine/nonfinite.h"
#include "runtime/emulator/machine/step_observer.h"
#include "runtime/emulator/memory/lane_clock.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/memory/race_row.h"
#include "runtime/emulator/program/launch.h"

namespace gpuemu::emulator {

struct Block;

enum class WarpState : uint8_t { Running, AtBarrier, AtCluster, Done };

/// Lane masks, one bit per lane.
struct LaneMasks {
  uint32_t running = 0;  ///< Lanes that execute the current step: active, and the guard is true.
  uint32_t active = 0;   ///< Lanes of the current entry of the reconvergence stack.
  uint32_t exists = 0;   ///< Lanes that have a thread.
  uint32_t alive = 0;    ///< Lanes that have not exited.
};

/// REQUIRES: mask != 0.
inline uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

/// The registers and related state that every handler accesses.
struct WarpRegisters {
  std::byte* data = nullptr;           ///< Registers of the current frame.
  Allocation** allocations = nullptr;  ///< Block::allocations, indexed by Step::cache.
  uint32_t carry = 0;                  ///< The carry flag CC.CF, one bit per lane.
};

/// Parts of the current function's Code, kept near the other hot state.
struct CurrentFunction {
  const Step* steps = nullptr;
  const uint32_t* lists = nullptr;
  const JitFunction* compiled = nullptr;  ///< One per step; null if nothing was compiled.
};

/// Local memory of the 32 lanes, stored lane after lane.
struct WarpLocal {
  std::byte* data = nullptr;
  uint32_t stride = 0;  ///< Bytes per lane.
  std::vector<std::byte> storage;
  std::vector<uint8_t> defined;  ///< 1 for each byte that was written.
  ByteSources sources;           ///< The stores that computed undefined bytes.
};

/// The control-flow state: active calls, diverged lanes, paths.
struct WarpControl {
  uint32_t reconverge = kNone;  ///< Step at which the active lanes rejoin others.
  uint32_t depth = 0;           ///< Number of items of `frames` in use.
  WarpState state = WarpState::Done;
  uint32_t barrier = 0;  ///< The named barrier at which the warp waits.
  std::vector<ReconvergenceEntry> stack;
  std::vector<CallFrame> frames;
  std::vector<Path> suspended;  ///< All paths except the current one.
};

/// The order of the warp's accesses, for the race detectors.
struct WarpOrdering {
  LaneClock clock;
  /// The current segment for the global race detector, and LaneClock::now() when it began.
  uint32_t segment = 0, segment_epoch = 0, segment_event = 0;
  uint32_t segment_ordered = 0;  ///< Global accesses before this event are ordered.
  RowTags rows;
  bool fenced = false;  ///< A fence was executed, with no atomic or volatile access after it.
};

/// Schedules the tests for whether the warp only waits in a loop.
struct SpinWatch {
  uint64_t slices = 0;           ///< Time slices since the warp last waited or diverged.
  uint32_t slices_to_check = 0;  ///< Time slices until the next test.
  uint32_t check_interval = 0;   ///< Grows with every test that finds progress.
  bool waits = false;            ///< Result of the last test.
};

/// The warp's last arrival at its cluster's barrier.
struct ClusterArrival {
  uint32_t phase = 0;    ///< Phase of the barrier at the arrival.
  bool pending = false;  ///< The warp has arrived and has not waited yet.
};

/// State of the tracking of undefined and non-finite values.
struct ValueTracking {
  bool active = false;  ///< The warp runs step by step, in run_observed().
  Definedness definedness;
  Nonfinite nonfinite;
};

class Warp : public WarpProgress {
 public:
  LaneMasks masks;
  WarpRegisters registers;
  CurrentFunction function;
  Block* block = nullptr;
  Launch* launch = nullptr;
  WarpControl control;
  WarpLocal local;
  WarpOrdering ordering;
  ValueTracking tracking;
  SpinWatch spin;
  ClusterArrival cluster_arrival;
  uint32_t index = 0;                  ///< Number of the warp in its block.
  std::unique_ptr<WarpCopies> copies;  ///< Null until the warp starts an asynchronous copy.

  uint32_t* u32(uint32_t offset) { return reinterpret_cast<uint32_t*>(registers.data + offset); }
  uint64_t* u64(uint32_t offset) { return reinterpret_cast<uint64_t*>(registers.data + offset); }
  uint32_t& pred(uint32_t offset) { return *reinterpret_cast<uint32_t*>(registers.data + offset); }
  Frame& frame() { return *control.frames[control.depth - 1].frame; }
  /// Returns the last step, or the next one if the last belongs to another function.
  const Step& next_instruction() {
    const std::vector<Step>& all = code().steps;
    const bool own = step >= all.data() && step < all.data() + all.size();
    return own ? *step : all[pc < all.size() ? pc : 0];
  }
  const Code& code() { return *frame().code; }

  /// Prepares to run the launch's entry with `lanes` threads. run() takes a frame for it.
  void start(uint32_t warp_index, uint32_t lanes);
  /// Called when the warp has ended, so that the next warp can use its frame while it is cached.
  void give_back_frame();
  /// Runs until the warp waits, ends or has executed `slice` warp instructions.
  void run(uint64_t slice);
  /// Returns whether a register of any frame is undefined.
  bool has_undefined() const;
  void enter(const Code& code, const CallSite* site);
  void jump(uint32_t target) { pc = target; }
  /// Splits the active lanes: `taken` continue at `target`, the others at the next step. All rejoin
  /// at `meet`.
  void diverge(uint32_t taken, uint32_t target, uint32_t meet);
  /// Makes lanes return from the function, or exit the kernel if it is the entry.
  void leave(uint32_t lanes);
  /// Called before a call by `lanes` only: the other active lanes wait until it returns.
  void split_for_call(uint32_t lanes);
  /// Called before an indirect call by `lanes`. The lanes `later` call other functions, and execute
  /// the call instruction afterwards.
  void split_for_calls(uint32_t lanes, uint32_t later);
  void exit_lanes(uint32_t lanes);
  /// Called after a time slice that did not end the warp: lets lanes run that wait for the current
  /// ones.
  void yield();
  /// Returns whether a .sync instruction must wait for lanes of `wanted` that have not exited. If
  /// so, it is executed again later. Lanes waiting to rejoin this path run first, because they may
  /// exit.
  bool await_lanes(const Step& at, uint32_t wanted);
  /// Returns the lanes of `wanted` that passed the current instruction without executing it and
  /// then exited.
  uint32_t gone_past(uint32_t wanted) const;
  void wait_at_barrier(uint32_t id);
  void stop_slice() { remaining = 0; }
  /// Makes the straight line in progress end after this step.
  void end_run_behind(const Step& last) { run_end_ = &last + 1; }
  /// For __syncwarp() and barriers: orders all accesses of `lanes` before it with those after it.
  /// Lanes without a thread count as present.
  void sync_lanes(uint32_t lanes) {
    if (ordering.clock.full()) {
      forget_order();
    }
    if ((masks.exists & ~lanes) == 0) {
      return ordering.clock.order_all();
    }
    if (launch->inputs.checks.race || launch->races != nullptr) {
      ordering.clock.order_all(lanes & masks.exists);
    }
  }
  /// Called for an atomic or volatile access to global memory, which may serve as a lock or a flag.
  void pass_global() {
    if (ordering.clock.full()) {
      forget_order();
    }
    ordering.segment_ordered = ordering.clock.advance();
  }
  /// Called for shuffles and similar instructions, at which `lanes` wait for each other.
  void meet_lanes(uint32_t lanes) {
    if (ordering.clock.full()) {
      forget_order();
    }
    if ((masks.exists & ~lanes) == 0) {
      return ordering.clock.order_reads();
    }
    if (launch->inputs.checks.race || launch->races != nullptr) {
      ordering.clock.order_reads(lanes & masks.exists);
    }
  }
  /// Updates `function` and `registers` after the current frame or its code changed.
  void load_function();
  void ensure_local(uint32_t bytes);
  /// Returns the end of the current function's local memory, alloca included.
  uint32_t local_end();

 private:
  void run_observed();
  void run_straight_line(const Step* next);
  void run_steps(const Step* next, const Step* end);
  void run_compiled(JitFunction steps);
  void fill_frame(Frame& frame, const Code& code);
  bool split_waiting();
  Path suspend_path();
  void resume_path(size_t suspended_index);
  size_t next_path() const;
  bool ends_at(size_t entry) const;
  void forget_due(uint32_t lanes);
  bool flatten(Path& path);
  bool absorb_arrived();
  void pop_reconverged();
  void settle_top();
  void save_top() {
    control.stack.back().pc = pc;
    control.stack.back().mask = masks.active;
  }
  void load_top();
  bool may_enter(const Code& code, uint32_t local_base);
  bool charge(Frame& frame, const Code& code);
  void forget_order();

  const Step* run_end_ = nullptr;  ///< End of the straight line in progress.
  bool alone_ = false;             ///< The next .sync instruction waits for no other path.
};

/// Returns the thread index of `lane` in its block.
Dim3 thread_of(const Warp& warp, uint32_t lane);

}  // namespace gpuemu::emulator
