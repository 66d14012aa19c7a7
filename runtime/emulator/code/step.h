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
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kNone = ~uint32_t{0};
/// How many lanes a mask has. Without the processor's own instruction, which a portable build may
/// not use, std::popcount is a call.
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
struct Ins;
using Handler = void (*)(Warp&, const Ins&);

struct Ins {
  Handler run = nullptr;
  uint32_t guard = kTrueOffset;
  uint32_t guard_xor = 0;  ///< All ones for @!p.
  uint32_t counted = 1;    ///< PTX instructions it stands for; 0: a helper step of one.
  uint32_t dst = kTrueOffset;
  std::array<uint32_t, 4> src = {kTrueOffset, kTrueOffset, kTrueOffset, kTrueOffset};
  int64_t imm = 0;      ///< Address offset, rounding mode, branch target ...
  uint32_t aux = 0;     ///< Reconvergence point, barrier kind, bytes ...
  uint32_t list = 0;    ///< First of the extra operands in Code::lists.
  uint8_t count = 1;    ///< Number of extra operands (vector width).
  uint8_t wide = 1;     ///< Address register has 64 bits.
  uint8_t flags = 0;    ///< Family specific.
  uint8_t space = 0;    ///< ptx::Space
  uint32_t cache = 0;   ///< Of an access: its number, and the index of its cached allocation.
  uint32_t origin = 0;  ///< Index into Function::body.
  /// From here on so many instructions run one after the other with the same lanes: none of them
  /// has a guard, changes the flow or is a place that others jump to. 0: it must be run on its own.
  uint32_t stretch = 0;
  uint32_t stretch_counted = 0;  ///< Those of them that count as PTX instructions.
  bool jumps = false;            ///< A direct branch: `aux` is where to.
};

/// Flags of load and store instructions (Ins::flags).
inline constexpr uint8_t kSigned = 1;
inline constexpr uint8_t kOrdered = 2;  ///< volatile and its like: threads may meet here.
/// A vector of plain words, as copies of structures use: some of them may be padding.
inline constexpr uint8_t kWholeAccess = 4;
/// ld.global.nc: of what does not change. No flag of the other instructions that read.
inline constexpr uint8_t kReadOnly = 64;

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

/// Where a register of PTX lies in the frame.
struct RegisterPlace {
  uint32_t offset = 0;
  uint32_t bytes = 0;  ///< Of a lane; 0: a predicate.
};

/// A variable of shared memory, for messages.
struct SharedVariable {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

/// What an instruction does with memory, for the counters.
struct MemoryUse {
  uint32_t ins = 0;  ///< Index into Code::ins.
  ptx::Space space = ptx::Space::Generic;
  uint32_t base = 0;  ///< Address register, src[0] of most.
  int64_t offset = 0;
  bool wide = true;
  uint32_t bytes = 0;  ///< Of one lane.
};

/// What the counting handler knows of the instruction that it stands for (steps/counting.cc).
struct Probe {
  Handler run = nullptr;
  uint32_t guard = kTrueOffset, guard_xor = 0, counted = 0;
  uint32_t instruction = kNone;  ///< Of Counters; kNone: a helper step.
  uint32_t block = kNone;        ///< Of Counters, at the first step of a basic block.
  uint32_t taken = kNone;        ///< Edge of a branch.
  uint32_t next = kNone;         ///< Edge to the block behind, at the last step of a block.
  uint32_t targets = kNone;      ///< brx: first of its edges in Code::lists.
  uint32_t uses_begin = 0, uses_end = 0;  ///< Of Code::memory_uses.
};

/// What a launch asks of loads and stores beside their bounds; machine code differs by it. As bits.
using Accesses = uint8_t;
inline constexpr Accesses kInit = 1;  ///< Memory that nothing wrote.
inline constexpr Accesses kSharedRaces = 2;
inline constexpr Accesses kGlobalChecks = 4;  ///< Races of global memory, bytes written twice.
inline constexpr size_t kAccesses = 8;

/// Where a warp is, as far as machine code moves it on.
struct WarpProgress {
  uint32_t pc = 0;           ///< Of the next instruction.
  const Ins* ins = nullptr;  ///< The last one.
  uint64_t remaining = 0;    ///< Warp instructions left in this time slice; 0 leaves the loop.
  uint64_t executed = 0;     ///< Thread instructions.
};
/// What machine code works on, by argument: it reads nothing else of a warp.
struct CompiledPlace {
  WarpProgress* progress = nullptr;
  std::byte* registers = nullptr;
  Allocation** cache = nullptr;
  std::byte* shared = nullptr;
  uint64_t shared_bytes = 0;
  const uint8_t* shared_defined = nullptr;
  const RaceTags* races = nullptr;       ///< Of Block::race.
  const uint32_t* lane_event = nullptr;  ///< LaneOrder::now(), whenever it is read.
  uint32_t warp_tag = 0;                 ///< Of the warp, in the history of shared memory.
};
/// Runs from the step that it was made for, for all 32 lanes, until the slice ends or a step comes
/// that is for handlers: `pc` is there then, and it returns nullptr. Where a stretch ends early, it
/// returns the step that handlers go on with until they come to `pc`.
using CompiledSteps = const Ins* (*)(Warp&, const CompiledPlace&);
struct CompiledCode {
  std::vector<CompiledSteps> at;  ///< Per step; nullptr: not to begin there. Empty: there are none.
  std::shared_ptr<void> memory;   ///< That the functions lie in.
  bool tried = false;
};

struct Code;
/// What a call copies and where it goes.
struct CallSite {
  const Code* callee = nullptr;
  std::string external;  ///< vprintf, malloc ...: built in.
  std::vector<ParamSlot> arguments, results;
};

/// What depends on no path of the program, taken out of it: it runs for all lanes when a frame of
/// registers is made, and again as far as it depends on the warp or block when the frame goes on to
/// another one. Its results stay in their registers, as constants do.
struct Prologue {
  std::vector<Ins> once, per_warp, per_block;
};

/// One decoded function.
struct Code {
  const ptx::Function* source = nullptr;
  std::string name;
  std::vector<Ins> ins;
  Prologue prologue;
  std::vector<uint32_t> lists;
  std::vector<Constant> constants;
  std::vector<CallSite> calls;
  std::vector<std::string> refusals;  ///< Why instructions are not executed: Ins::aux - 1 of them.
  std::vector<TensorStep> tensors;
  std::vector<MemoryUse> memory_uses;
  std::vector<Probe> probes;  ///< One per instruction of code that counts; else empty.
  std::vector<ParamSlot> params,
      results;  ///< In the frame's parameter area; an entry's: in its buffer.
  std::vector<SharedVariable> shared;
  std::vector<RegisterPlace> registers;  ///< As Function::registers.
  std::vector<RegisterPlace> slots;      ///< All of a frame: those and what helper steps need.
  std::vector<uint32_t> used_early;      ///< Registers that may be used before they are written.
  uint32_t frame_bytes = 256;
  uint32_t param_bytes = 0;  ///< Of one lane's parameter area (functions and call sites).
  uint32_t local_bytes = 0;  ///< Of one thread.
  uint32_t static_shared = 0;
  uint32_t dynamic_offset = 0;                   ///< Where dynamic shared memory begins.
  bool names_dynamic = false;                    ///< It has a name for that memory.
  std::array<CompiledCode, kAccesses> compiled;  ///< By Accesses.
  uint64_t warps = 0;  ///< That launches asked to run it, until it is compiled.
};

}  // namespace gpuemu::emulator
