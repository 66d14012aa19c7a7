// The last word of an allocation whose size is no multiple of 4. Atomic operations on 8 or 16 bits
// that are built from atom.cas.b32 access all of it. A GPU's allocations end at multiples of 256
// bytes, so they may do that, as long as the bytes behind the end stay as they are.
#pragma once

#include "runtime/emulator/checks/access.h"

namespace gpuemu::emulator {

/// Returns the allocation that ends within this word, if the step may access it; else null.
Allocation* ending_in_word(Warp& warp, const Step& step, uint64_t address, uint32_t bytes);
/// Notes the bytes that those of `lanes` at such a word access inside of the allocation, for the
/// checks of races and definedness. Call it before an atom, after a load.
void note_last_words(Warp& warp, const Step& step, const uint64_t* address, Access access,
                     uint32_t lanes);
/// Loads for those of `lanes` that access such a word. The bytes behind the end are zero.
/// Notes the accesses.
void load_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes);
/// Executes atom.cas.b32 for those of `lanes` that access such a word. Reports the ones that change
/// bytes behind the end.
void swap_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes);

}  // namespace gpuemu::emulator
