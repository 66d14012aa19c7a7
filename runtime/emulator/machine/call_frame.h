// The calls in progress of a warp, and where its lanes rejoin after a branch.
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

/// The registers and parameters of one function that is being executed.
struct Frame {
  ~Frame() {
    if (charged_to != nullptr) {
      *charged_to -= charged;
    }
  }
  /// LaunchProgress::call_bytes, which `charged` bytes were added to; null for an entry's frame.
  std::shared_ptr<std::atomic<uint64_t>> charged_to;
  uint64_t charged = 0;
  const Code* code = nullptr;
  std::unique_ptr<std::byte[]> storage;
  std::byte* registers = nullptr;  ///< 64-byte aligned, inside `storage`.
  uint64_t storage_bytes = 0;
  std::vector<std::byte> params;  ///< Code::param_bytes for each lane, lane after lane.
  /// The warp and the block (BlockPosition::linear) for which the prologue filled the registers.
  uint32_t warp = kNone;
  uint64_t block = 0;
  uint32_t local_base = 0;  ///< Offset of the function's variables in a lane's local memory.
  /// Where each lane's alloca memory ends; it begins at local_base + Code::local_bytes. Null until
  /// the function calls alloca.
  std::unique_ptr<std::array<uint32_t, kLanes>> stack_ends;
  const CallSite* site = nullptr;  ///< The call that made the frame; null for an entry's.
  UndefinedRegisters undefined;
  std::unique_ptr<ObservedRegisters> observed;  ///< Null unless the launch has an observer.

  /// Whether `from` is the same call, made by other lanes of the warp on their own.
  bool may_take(const Frame& from) const;
  /// Copies what `lanes` have in the frame `from` into this one, where they continue.
  void take_lanes(const Frame& from, uint32_t lanes);
};

/// A group of lanes that execute together, and the step at which they rejoin the others.
struct ReconvergenceEntry {
  uint32_t pc = 0, mask = 0, reconverge = kNone;
  /// Lanes that will continue together from `reconverge`: those of `mask`, those that wait there,
  /// and those that passed it on a path of their own. Lanes that exited before are not included.
  uint32_t due = 0;
};

/// A call in progress. Paths that diverged inside it share the frame, in which each lane has its
/// own registers.
struct CallFrame {
  std::shared_ptr<Frame> frame;
  uint32_t stack_base =
      0;  ///< Number of entries of the reconvergence stack that belong to callers.
};

/// Lanes that proceed independently of the warp's other lanes, as threads do since sm_70. A warp
/// has one path until lanes wait in a loop for lanes that they diverged from.
struct Path {
  std::vector<ReconvergenceEntry> stack;
  std::vector<CallFrame> frames;
  bool arrived = false;    ///< Waits at a .sync instruction that other paths must reach as well.
  uint32_t waits_for = 0;  ///< The lanes that it waits for there.
};

}  // namespace gpuemu::emulator
