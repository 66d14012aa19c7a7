// Records loads and stores of shared memory in its history, if a launch checks for races: the
// cases in which nobody has written a word since the last barrier. All others are the handlers'.
#pragma once

#include "runtime/emulator/jit/bounds_plan.h"

namespace gpuemu::emulator {

/// Lanes side by side, or all lanes of a half at one place. Jumps to `out` if a handler has to
/// check; it may find some of the notes made. Without races these write no code.
void note_row(Emitter& e, const Step& step, const Access& access,
              const Emitter::CheckedBounds& bounds, Xbyak::Label& out);
void note_same(Emitter& e, const Step& step, const Access& access,
               const Emitter::CheckedBounds& bounds, Xbyak::Label& out);

}  // namespace gpuemu::emulator
