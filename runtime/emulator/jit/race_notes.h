// Records loads and stores in the race records, if a launch checks for races. Handles only words of
// shared memory that no warp has written since the last barrier, and rows of global memory that one
// warp accesses as a whole; the handlers do the rest.
#pragma once

#include "runtime/emulator/jit/bounds_plan.h"

namespace gpuemu::emulator {

/// Brings WarpOrdering::rows up to date, at the beginning of a piece that accesses global memory.
void prepare_rows(Emitter& e);
/// note_row() for global memory.
void note_global_row(Emitter& e, const Step& step, const Access& access,
                     const Emitter::CheckedBounds& bounds, Xbyak::Label& out);
/// Records two rows, one for each half of the warp.
void note_global_halves(Emitter& e, const Step& step, const Access& access,
                        const Emitter::CheckedBounds& bounds, const Xbyak::Label& out);
/// Marks the store that note_row() recorded in global memory as made.
void end_row(Emitter& e, const Access& access);
/// Records consecutive lanes, or all lanes of a half at one place. Jumps to `out` if a handler has
/// to check; part may be recorded by then. Emits nothing if races are not checked.
void note_row(Emitter& e, const Step& step, const Access& access,
              const Emitter::CheckedBounds& bounds, Xbyak::Label& out);
void note_same(Emitter& e, const Step& step, const Access& access,
               const Emitter::CheckedBounds& bounds, Xbyak::Label& out);

}  // namespace gpuemu::emulator
