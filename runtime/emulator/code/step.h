// Decoded code: a flat array of steps whose operands are byte offsets into the warp's register
// frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/code/operands.h"
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kLanes = 32;
/// Returns the number of lanes in a mask. In a portable build, which may not use the processor's
/// popcount instruction, std::popcount would be a function call.
constexpr uint32_t lanes_in(uint32_t mask) {
  if (mask == kNone) return kLanes;
  mask -= mask >> 1 & 0x55555555u;
  mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
  return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
/// Offset of the predicate that is always true: the guard of unguarded instructions.
inline constexpr uint32_t kTrueOffset = 0;

class Warp;
struct Allocation;
struct RaceTags;
struct RowTags;
struct Step;
using Handler = void (*)(Warp&, const Step&);

/// The predicate that selects the lanes which run a step.
struct Guard {
  uint32_t predicate = kTrueOffset;
  uint32_t flip = 0;  ///< All ones for @!p.

  bool is_always() const { return predicate == kTrueOffset && flip == 0; }
};

/// A straight line: steps that always run one after the other with the same lanes, because none has
/// a guard, branches or is a branch target.
struct StraightLine {
  uint32_t steps = 0;         ///< Steps from this one on; 0: the step runs on its own.
  uint32_t instructions = 0;  ///< PTX instructions among them.
};

/// Consecutive registers in Code::lists.
struct RegisterList {
  uint32_t first = 0, count = 0;
};

struct Step {
  Handler run = nullptr;
  Guard guard;
  uint32_t counted = 1;  ///< PTX instructions that it stands for; 0: a helper step.
  uint32_t dst = kTrueOffset;
  std::array<uint32_t, 4> src = {kTrueOffset, kTrueOffset, kTrueOffset, kTrueOffset};
  [[no_unique_address]] Operands operands;  ///< The next member may use its last bytes.
  uint32_t origin = 0;                      ///< Index into Function::body.
  StraightLine straight_line;

  /// Returns the operands of ld, st, ldmatrix and stmatrix.
  const AccessOperands& access() const { return operands.get<AccessOperands>(); }
  /// Returns the operands of a memory access; null for other steps.
  const MemoryOperands* memory() const { return operands.find<MemoryOperands>(); }
  /// Returns a branch that needs no handler if all lanes take it; null for other steps.
  const BranchOperands* direct_branch() const {
    const BranchOperands* const to = operands.find<BranchOperands>();
    return to != nullptr && to->is_direct ? to : nullptr;
  }
  /// Returns the registers of the elements that it loads or stores; none for other steps.
  RegisterList elements() const {
    if (const auto* const of = operands.find<AccessOperands>()) return {of->list, of->count};
    if (const auto* const of = operands.find<SurfaceOperands>()) return {of->list, of->count};
    const auto* const of = operands.find<ParamOperands>();
    return of == nullptr ? RegisterList() : RegisterList{of->list, of->count};
  }
  /// Returns its number among the accesses of the program; 0 if it is not an access.
  uint32_t cache() const {
    if (const MemoryOperands* const accessed = memory()) return accessed->cache;
    if (const auto* const texture = operands.find<TextureOperands>()) return texture->cache;
    const auto* const surface = operands.find<SurfaceOperands>();
    return surface == nullptr ? 0 : surface->cache;
  }
  /// Returns whether it reads through the texture cache, which may miss every store of the launch.
  bool is_read_only() const {
    const MemoryOperands* const accessed = memory();
    const auto* const surface = operands.find<SurfaceOperands>();
    return (accessed != nullptr && accessed->is_read_only) ||
           (surface != nullptr && surface->kind == SurfaceOperands::Kind::Load) ||
           operands.find<TextureOperands>() != nullptr;
  }
};

/// One .param variable of a function or a call: a range in each lane's parameter area.
struct ParamSlot {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Constant {
  uint32_t offset = 0;
  uint64_t bits = 0;
  bool wide = false;
};

/// The location of a PTX register in the frame.
struct RegisterPlace {
  uint32_t offset = 0;
  uint32_t bytes = 0;  ///< Per lane; 0 for a predicate.
};

/// A variable of shared memory, for messages.
struct SharedVariable {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

/// A memory access of an instruction, for the profile counters.
struct MemoryUse {
  uint32_t step = 0;  ///< Index into Code::steps.
  ptx::Space space = ptx::Space::Generic;
  uint32_t base = 0;  ///< Address register, usually src[0].
  int64_t offset = 0;
  bool wide = true;
  uint32_t bytes = 0;  ///< Per lane.
};

/// A step that the counting handler (steps/counting.cc) executes and counts.
struct CountingStep {
  Handler run = nullptr;
  Guard guard;
  uint32_t counted = 0;
  uint32_t instruction = kNone;  ///< Index into ProfileCounts::instructions; kNone: a helper step.
  uint32_t block =
      kNone;  ///< Index into ProfileCounts::blocks, at the first step of a basic block.
  uint32_t taken = kNone;    ///< Edge that a branch takes.
  uint32_t next = kNone;     ///< Edge to the next block in text order, at the last step of a block.
  uint32_t targets = kNone;  ///< brx: its first edge in Code::lists.
  uint32_t uses_begin = 0, uses_end = 0;  ///< Range of Code::memory_uses.
};

/// The checks of loads and stores that compiled code supports, one bit each. Bounds are always
/// checked.
using Accesses = uint8_t;
inline constexpr Accesses kInit = 1;  ///< Reads of uninitialised memory.
inline constexpr Accesses kSharedRaces = 2;
inline constexpr Accesses kGlobalRaces = 4;
inline constexpr Accesses kWritesOnce = 8;  ///< Bytes written twice.
inline constexpr size_t kAccesses = 16;

/// The part of a warp's state that compiled code changes.
struct WarpProgress {
  uint32_t pc = 0;             ///< Index of the next step.
  const Step* step = nullptr;  ///< The last step that ran.
  uint64_t remaining = 0;      ///< Warp instructions left in this time slice; 0 ends the loop.
  uint64_t executed = 0;       ///< Thread instructions.
};
/// The arguments of compiled code, which reads nothing else of a warp.
struct JitFrame {
  WarpProgress* progress = nullptr;
  std::byte* registers = nullptr;
  Allocation** cache = nullptr;
  std::byte* shared = nullptr;
  uint64_t shared_bytes = 0;
  const uint8_t* shared_defined = nullptr;
  RaceTags* races = nullptr;       ///< SharedMemory::race_history.
  uint32_t* lane_event = nullptr;  ///< LaneClock::counts().
  const RowTags* rows = nullptr;   ///< WarpOrdering::rows.
  uint32_t warp_tag = 0;           ///< The warp's tag in the race history of shared memory.
};
/// Compiled code. Runs all 32 lanes from its first step until the slice ends or a step needs its
/// handler; then sets `pc` to that step and returns null. If a straight line ends early, returns
/// the step from which handlers continue until they reach `pc`.
using JitFunction = const Step* (*)(Warp&, const JitFrame&);
struct CompiledCode {
  std::vector<JitFunction> at;   ///< Per step; null: no code starts there. Empty: nothing is
                                 ///< compiled.
  std::shared_ptr<void> memory;  ///< Owns the memory of the functions.
  bool tried = false;
};

struct Code;
/// A call: its callee, and the parameters to copy.
struct CallSite {
  const Code* callee = nullptr;
  std::string external;  ///< A built-in function such as vprintf or malloc.
  std::vector<ParamSlot> arguments, results;
};

/// Steps whose results do not depend on the path through the program. They run for all lanes when a
/// frame is made; those that depend on the warp or the block run again when another one takes over
/// the frame. The results stay in their registers, as constants do.
struct Prologue {
  std::vector<Step> once, per_warp, per_block;
};

/// One decoded function.
struct Code {
  const ptx::Function* source = nullptr;
  std::string name;
  std::vector<Step> steps;
  Prologue prologue;
  std::vector<uint32_t> lists;
  std::vector<Constant> constants;
  std::vector<CallSite> calls;
  std::vector<std::string> refusals;  ///< Why instructions cannot be executed.
  std::vector<TensorStep> tensors;
  std::vector<MemoryUse> memory_uses;
  std::vector<CountingStep>
      counting_steps;  ///< One per instruction of instrumented code; else empty.
  std::vector<ParamSlot> params,
      results;  ///< In the frame's parameter area; for an entry, in its parameter buffer.
  std::vector<SharedVariable> shared;
  std::vector<RegisterPlace> registers;  ///< As Function::registers.
  std::vector<RegisterPlace> slots;  ///< All registers of a frame, including those of helper steps.
  std::vector<uint32_t> used_early;  ///< Registers that may be used before they are written.
  uint32_t frame_bytes = 256;
  uint32_t param_bytes = 0;  ///< Size of one lane's parameter area (functions and call sites).
  uint32_t local_bytes = 0;  ///< Local memory of one thread.
  uint32_t static_shared = 0;
  uint32_t dynamic_offset = 0;  ///< Offset at which dynamic shared memory begins.
  bool names_dynamic = false;   ///< The code uses dynamic shared memory (extern __shared__).
  std::array<CompiledCode, kAccesses> compiled;  ///< Indexed by Accesses.
  uint64_t warps = 0;  ///< Warps run so far; at a threshold the function is compiled.
  /// Host time of one cluster in the last launch; 0 before the first one. Only the thread that
  /// launches uses it.
  mutable uint64_t cluster_ns = 0;
};

}  // namespace gpuemu::emulator
