// Records loads and stores of shared memory in the race history, if a launch checks for races.
// Handles only words that no warp has written since the last barrier; the handlers do the rest.
#pragma once

#include "runtime/emulator/jit/bounds_plan.h"

namespace gpuemu::emulator {

/// Records consecutive lanes, or all lanes of a half at one place. Jumps to `out` if a handler has
/// to check; part may be recorded by then. Emits nothing if races are not checked.
void note_row(Emitter& e, const Step& step, const Access& access,
              const Emitter::CheckedBounds& bounds, Xbyak::Label& out);
void note_same(Emitter& e, const Step& step, const Access& access,
               const Emitter::CheckedBounds& bounds, Xbyak::Label& out);

}  // namespace gpuemu::emulator
