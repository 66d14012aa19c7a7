// What loads and stores of shared memory leave in its history, where a launch looks for races: the
// cases in which nobody has written a word since the last barrier. All others are the handlers'.
#pragma once

#include "runtime/emulator/jit/looks.h"

namespace gpuemu::emulator {

/// Lanes side by side, or all lanes of a half at one place. To `out` where a handler has to look;
/// it may find some of the notes made. Without races these write no code.
void note_row(Emitter& e, const Ins& ins, const Access& access, const Emitter::Looked& looked,
              Xbyak::Label& out);
void note_same(Emitter& e, const Ins& ins, const Access& access, const Emitter::Looked& looked,
               Xbyak::Label& out);

}  // namespace gpuemu::emulator
