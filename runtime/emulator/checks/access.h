// The slow paths of memory accesses, which handlers take if the fast checks fail, and the updates
// of the sanitizers' state.
#pragma once

#include "runtime/emulator/machine/check_report.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/access_kind.h"

namespace gpuemu::emulator {

/// Returns whether it stores registers, which Step::elements() names, and does nothing else.
inline bool only_stores(const ptx::Instruction& instruction) {
  return instruction.opcode == ptx::Opcode::St || instruction.opcode == ptx::Opcode::Sust;
}

/// The lanes that fail a check at one instruction, for a single finding.
struct Tally {
  uint32_t lanes = 0;
  uint32_t first = 0;
  void note(uint32_t lane) {
    if (lanes == 0) first = lane;
    lanes |= uint32_t{1} << lane;
  }
  uint64_t count() const { return static_cast<uint64_t>(std::popcount(lanes)); }
};

/// Returns the allocation that contains all of these bytes, and remembers it for the next execution
/// of the step; null if there is none.
const Allocation* look_up(Warp& warp, const Step& step, uint64_t address, uint64_t bytes);
/// Returns the running lanes that may access `bytes` at their global address; reports the others.
uint32_t resolve_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                        Access access);
/// Reports that the lanes of `bad` access memory of no allocation, the first of them at `address`.
void report_outside(Warp& warp, const Step& step, const Tally& bad, uint64_t address,
                    uint32_t bytes, Access access);
/// Resolves offsets into shared memory. Also runs the definedness check for loads.
uint32_t resolve_shared(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                        Access access);
uint32_t resolve_local(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                       Access access);
/// Resolves offsets into the entry's parameters, for code that takes their address.
uint32_t resolve_param(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes);
/// Checks that `lanes` read only bytes of parameters: elements between parameters are undefined.
void note_param_gaps(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                     uint32_t lanes);
/// Records that element `element` of a load is undefined in `lanes`, which read it from these
/// offsets of shared memory.
void note_undefined_shared(Warp& warp, const Step& step, uint32_t element, uint32_t lanes,
                           const uint64_t* offset);
/// Reports accesses that parameter space does not allow.
void refuse_param(Warp& warp, const Step& step, const uint64_t* address);

/// Notes those of `lanes` that read bytes of global memory which nothing wrote. REQUIRES: each of
/// `lanes` accesses bytes of an allocation.
void note_unwritten_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                           Access access, uint32_t lanes);

/// Marks stored bytes as defined. With the check `writes`, reports bytes that are already marked.
void define_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   uint32_t lanes);

/// Groups the lanes by the memory space of their address. For each space, sets masks.running to its
/// lanes and calls `run` with addresses of that space.
using SpaceHandler = void (*)(Warp&, const Step&, const uint64_t* address);
struct SpaceHandlers {
  SpaceHandler global, shared, local, param;
};
void split_generic(Warp& warp, const Step& step, uint64_t* address, const SpaceHandlers& handlers);

}  // namespace gpuemu::emulator
