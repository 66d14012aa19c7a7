// The entry points of the race detectors: accesses that no synchronisation orders.
#pragma once

#include "runtime/emulator/checks/access.h"

namespace gpuemu::emulator {

/// Shared memory, between warps (barriers order them) and between the lanes of one warp (warp-level
/// instructions do). `same_value` are the lanes of a store that write what is already there.
void note_shared(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                 Access access, uint32_t lanes, uint32_t same_value);

/// The instruction whose accesses carry `site` (Step::cache).
const ptx::Instruction* instruction_at(const Program& program, uint32_t site);
/// The bits of element `element`, of `size` bytes, that a store writes for `lane`.
uint64_t stored_value(Warp& warp, const Step& step, uint32_t element, uint32_t lane, uint32_t size);

/// Around accesses to global memory, if Launch::races is not null: before stores and atomics, after
/// loads and atomics.
void before_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   Access access, uint32_t lanes);
void after_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                  Access access, uint32_t lanes);

/// Lanes of one store that write different values to one place.
void check_clashes(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes,
                   bool shared);

}  // namespace gpuemu::emulator
