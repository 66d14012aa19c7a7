// Decoded code: flat instructions whose operands are byte offsets into the warp's frame of
// registers.
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
/// Counts the lanes of a mask. std::popcount would be a call in a portable build, which may not use
/// the processor's instruction.
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
struct Step;
using Handler = void (*)(Warp&, const Step&);

/// The lanes of a warp that run a step.
struct Guard {
  uint32_t predicate = kTrueOffset;
  uint32_t flip = 0;  ///< All ones for @!p.

  bool is_always() const { return predicate == kTrueOffset && flip == 0; }
};

/// Steps from one on that run one after the other with the same lanes: none has a guard, branches
/// or is the target of a branch.
struct StraightLine {
  uint32_t steps = 0;         ///< 0: the step runs on its own.
  uint32_t instructions = 0;  ///< How many of them count as PTX instructions.
};

/// Registers that follow one another in Code::lists.
struct RegisterList {
  uint32_t first = 0, count = 0;
};

struct Step {
  Handler run = nullptr;
  Guard guard;
  uint32_t counted = 1;  ///< PTX instructions it stands for; 0: a helper step of one.
  uint32_t dst = kTrueOffset;
  std::array<uint32_t, 4> src = {kTrueOffset, kTrueOffset, kTrueOffset, kTrueOffset};
  [[no_unique_address]] Operands operands;  ///< What follows may lie in its last bytes.
  uint32_t origin = 0;                      ///< Index into Function::body.
  StraightLine straight_line;

  /// What ld, st, ldmatrix and stmatrix take.
  const AccessOperands& access() const { return operands.get<AccessOperands>(); }
  /// What an access to memory takes; null for other steps.
  const MemoryOperands* memory() const { return operands.find<MemoryOperands>(); }
  /// A branch that needs no handler where all lanes take it; null for other steps.
  const BranchOperands* direct_branch() const {
    const BranchOperands* const to = operands.find<BranchOperands>();
    return to != nullptr && to->is_direct ? to : nullptr;
  }
  /// The registers of the elements that it loads or stores; none for other steps.
  RegisterList elements() const {
    if (const auto* const of = operands.find<AccessOperands>()) return {of->list, of->count};
    const auto* const of = operands.find<ParamOperands>();
    return of == nullptr ? RegisterList() : RegisterList{of->list, of->count};
  }
  /// Its number among the accesses of the program; 0: it is none.
  uint32_t cache() const {
    const MemoryOperands* const accessed = memory();
    return accessed == nullptr ? 0 : accessed->cache;
  }
};

/// One .param variable of a function or a call: a place in each lane's parameter area.
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

/// Place of a PTX register in the frame.
struct RegisterPlace {
  uint32_t offset = 0;
  uint32_t bytes = 0;  ///< Per lane; 0: a predicate.
};

/// A variable of shared memory, for messages.
struct SharedVariable {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

/// A memory access of an instruction, for the counters.
struct MemoryUse {
  uint32_t step = 0;  ///< Index into Code::steps.
  ptx::Space space = ptx::Space::Generic;
  uint32_t base = 0;  ///< Address register, src[0] of most.
  int64_t offset = 0;
  bool wide = true;
  uint32_t bytes = 0;  ///< Per lane.
};

/// A step that the counting handler (steps/counting.cc) runs and counts.
struct CountingStep {
  Handler run = nullptr;
  Guard guard;
  uint32_t counted = 0;
  uint32_t instruction = kNone;  ///< Index into ProfileCounts::instructions; kNone: a helper step.
  uint32_t block =
      kNone;  ///< Index into ProfileCounts::blocks, at the first step of a basic block.
  uint32_t taken = kNone;    ///< Edge of a branch.
  uint32_t next = kNone;     ///< Edge to the block behind, at the last step of a block.
  uint32_t targets = kNone;  ///< brx: first of its edges in Code::lists.
  uint32_t uses_begin = 0, uses_end = 0;  ///< Range of Code::memory_uses.
};

/// The checks of loads and stores that compiled code distinguishes, one bit each; bounds are always
/// checked.
using Accesses = uint8_t;
inline constexpr Accesses kInit = 1;  ///< Reads of memory that nothing wrote.
inline constexpr Accesses kSharedRaces = 2;
inline constexpr Accesses kGlobalChecks = 4;  ///< Races of global memory, bytes written twice.
inline constexpr size_t kAccesses = 8;

/// The part of a warp's state that compiled code changes.
struct WarpProgress {
  uint32_t pc = 0;             ///< Index of the next step.
  const Step* step = nullptr;  ///< The last one.
  uint64_t remaining = 0;      ///< Warp instructions left in this time slice; 0 leaves the loop.
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
  const RaceTags* races = nullptr;       ///< SharedMemory::races.
  const uint32_t* lane_event = nullptr;  ///< LaneClock::now(), whenever it is read.
  uint32_t warp_tag = 0;                 ///< The warp's tag in the history of shared memory.
};
/// Runs from the step that it was made for, for all 32 lanes, until the slice ends or a step comes
/// that is for handlers: `pc` is there then, and it returns nullptr. Where a straight-line run ends
/// early, it returns the step that handlers go on with until they come to `pc`.
using JitFunction = const Step* (*)(Warp&, const JitFrame&);
struct CompiledCode {
  std::vector<JitFunction> at;   ///< Per step; nullptr: not to begin there. Empty: there are none.
  std::shared_ptr<void> memory;  ///< Owns the memory that the functions lie in.
  bool tried = false;
};

struct Code;
/// A call: its callee, and the parameters to copy.
struct CallSite {
  const Code* callee = nullptr;
  std::string external;  ///< vprintf, malloc ...: built in.
  std::vector<ParamSlot> arguments, results;
};

/// Steps whose results depend on no path of the program. They run for all lanes when a frame is
/// made; those that depend on the warp or the block run again when another one gets the frame. The
/// results stay in their registers, as constants do.
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
  std::vector<std::string> refusals;  ///< Why instructions are not executed.
  std::vector<TensorStep> tensors;
  std::vector<MemoryUse> memory_uses;
  std::vector<CountingStep>
      counting_steps;  ///< One per instruction of code that counts; else empty.
  std::vector<ParamSlot> params,
      results;  ///< In the frame's parameter area; an entry's: in its buffer.
  std::vector<SharedVariable> shared;
  std::vector<RegisterPlace> registers;  ///< As Function::registers.
  std::vector<RegisterPlace> slots;      ///< All of a frame: those and what helper steps need.
  std::vector<uint32_t> used_early;      ///< Registers that may be used before they are written.
  uint32_t frame_bytes = 256;
  uint32_t param_bytes = 0;  ///< Size of one lane's parameter area (functions and call sites).
  uint32_t local_bytes = 0;  ///< Local memory of one thread.
  uint32_t static_shared = 0;
  uint32_t dynamic_offset = 0;  ///< Offset at which dynamic shared memory begins.
  bool names_dynamic = false;   ///< The code names dynamic shared memory (extern __shared__).
  std::array<CompiledCode, kAccesses> compiled;  ///< By Accesses.
  uint64_t warps = 0;  ///< Warps that launches have run, until it is compiled.
};

}  // namespace gpuemu::emulator
