// The entry points of the race detectors, which find accesses without synchronisation between them.
#pragma once

#include "runtime/emulator/checks/access.h"

namespace gpuemu::emulator {

/// Checks shared memory for races between warps (ordered by barriers) and between the lanes of one
/// warp (ordered by warp-level instructions). `same_value` are the lanes of a store that write the
/// value that is already there.
void note_shared(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                 Access access, uint32_t lanes, uint32_t same_value);

/// Returns the bits of element `element`, of `size` bytes, that a store writes for `lane`.
uint64_t stored_value(Warp& warp, const Step& step, uint32_t element, uint32_t lane, uint32_t size);

/// Call these around accesses to global memory, if Launch::races is not null: the first before
/// stores and atomics, the second after loads and atomics.
void before_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   Access access, uint32_t lanes);
void after_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                  Access access, uint32_t lanes);

/// Reports lanes of one store that write different values to one place.
void check_clashes(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes,
                   bool shared);

}  // namespace gpuemu::emulator
