// What machine code looks at before it accesses memory. All accesses of a stretch by one address
// register share a look: whether every lane stays inside and is aligned, and whether the lanes lie
// side by side, at one place or anywhere. What is not inside or aligned is left to the handlers,
// before anything of it was done.
#pragma once

#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {

struct Access {
  bool is_store = false, is_shared = false;
  uint32_t element = 4;  ///< Bytes.
  bool is_signed = false;
  bool init = false, race = false;  ///< What the launch asks for beside bounds (Accesses).
};

/// What a look leaves on the stack: how the lanes lie, and the host addresses of the first lanes of
/// both halves of the warp, less the instruction's own offset. Of global memory there is the first
/// half's alone, which the other half continues, unless the shape is kHalves; of a store the second
/// place is how far from the memory its marks lie (AllocationBounds::marks), where it needs them.
inline constexpr uint32_t kShapeAt = 0, kFirstAt = 8, kSecondAt = 16, kLookBytes = 24;
/// The shapes. In shared memory the halves of a row may lie apart; in global memory that is a shape
/// of its own, of loads alone.
inline constexpr uint32_t kRow = 0, kSame = 1, kAnywhere = 2, kHalves = 3;

/// Whether machine code knows this form: 64-bit addresses of global memory, 32-bit ones of shared
/// memory, offsets that instructions can have.
bool is_usual(const Ins& ins, const Access& access);

/// The look that covers this step, made before or now; nullptr: there is no more room. Leaves the
/// stretch where a lane is not inside.
const Emitter::Looked* look(Emitter& e, const Ins& ins, const Access& access, const Vectors& base);

inline Xbyak::Address on_stack(Emitter& e, const Emitter::Looked& looked, uint32_t what) {
  return e.qword[e.rsp + static_cast<int>(looked.at + what)];
}

/// Jumps to `out` where lanes side by side read shared words that are not defined.
void check_row(Emitter& e, const Access& access, const Emitter::Looked& looked, int offset,
               Xbyak::Label& out);
/// The same where all lanes of a half read at one place.
void check_same(Emitter& e, const Access& access, const Emitter::Looked& looked, int offset,
                Xbyak::Label& out);
/// Marks what lanes side by side stored as defined, where the launch asks for it.
void mark_row(Emitter& e, const Access& access, const Emitter::Looked& looked, int offset);

/// Of vectors of two or four elements per lane.
Emit of_several(const Access& access);

}  // namespace gpuemu::emulator
