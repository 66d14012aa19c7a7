// The call stack of a warp, and the reconvergence points of its lanes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/machine/definedness.h"
#include "runtime/emulator/machine/step_observer.h"

namespace gpuemu::emulator {

/// The registers and parameters of one active function.
struct Frame {
  ~Frame() {
    if (charged_to != nullptr) {
      *charged_to -= charged;
    }
  }
  /// The counter (LaunchProgress::call_bytes) to which `charged` bytes were added; null for the
  /// entry's frame.
  std::shared_ptr<std::atomic<uint64_t>> charged_to;
  uint64_t charged = 0;
  const Code* code = nullptr;
  std::unique_ptr<std::byte[]> storage;
  std::byte* registers = nullptr;  ///< 64-byte aligned, inside `storage`.
  uint64_t storage_bytes = 0;
  std::vector<std::byte> params;  ///< Code::param_bytes per lane, lane after lane.
  /// The warp and block (BlockPosition::linear) for which the prologue filled the registers.
  uint32_t warp = kNone;
  uint64_t block = 0;
  /// The prologue read parameters of another launch, or registers have to be zeros again.
  bool is_of_earlier_launch = false;
  uint32_t local_base = 0;  ///< Offset of the function's variables in a lane's local memory.
  /// End of each lane's alloca memory, which begins at local_base + Code::local_bytes. Null until
  /// the function calls alloca.
  std::unique_ptr<std::array<uint32_t, kLanes>> stack_ends;
  const CallSite* site = nullptr;  ///< The call that made the frame; null for the entry's frame.
  UndefinedRegisters undefined;
  std::unique_ptr<ObservedRegisters> observed;  ///< Null unless the launch has an observer.

  /// Returns whether `from` is the same call, made separately by other lanes of the warp.
  bool may_take(const Frame& from) const;
  /// Moves the state of `lanes` from the frame `from` into this one, where they continue.
  void take_lanes(const Frame& from, uint32_t lanes);
};

/// A group of lanes that execute together, and the step at which they reconverge with the others.
struct ReconvergenceEntry {
  uint32_t pc = 0, mask = 0, reconverge = kNone;
  /// Lanes that will continue together from `reconverge`: those of `mask`, those waiting there, and
  /// those that passed it on a separate path. Lanes that exited are not included.
  uint32_t due = 0;
};

/// An active call. Paths that diverged inside it share the frame, in which each lane has registers
/// of its own.
struct CallFrame {
  std::shared_ptr<Frame> frame;
  uint32_t stack_base =
      0;  ///< Number of entries of the reconvergence stack that belong to callers.
};

/// Lanes that proceed independently of the warp's other lanes (independent thread scheduling, since
/// sm_70). A warp has one path until lanes wait in a loop for lanes from which they diverged.
struct Path {
  std::vector<ReconvergenceEntry> stack;
  std::vector<CallFrame> frames;
  bool arrived = false;    ///< Waits at a .sync instruction for other paths.
  uint32_t waits_for = 0;  ///< The lanes that it waits for there.
};

}  // namespace gpuemu::emulator
