// Plans the bounds checks of compiled code: all accesses of a straight-line run through one address
// register share a check. It tests that every lane is inside and aligned, and finds the shape of
// the access: consecutive, one place, or scattered. Accesses that fail are left to the handlers,
// before any of them was done.
#pragma once

#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {

struct Access {
  bool is_store = false, is_shared = false;
  uint32_t element = 4;  ///< Bytes.
  bool is_signed = false;
  bool init = false, race = false;  ///< The checks that the launch asks for (Accesses).
};

/// What a check leaves on the stack: the shape of the access, and the host addresses of the first
/// lanes of both halves of the warp, less the instruction's own offset. Of global memory there is
/// the first half's alone, which the other half continues, unless the shape is kHalves; of a store
/// the second place is how far from the memory its marks lie (AllocationBounds::marks), where it
/// needs them.
inline constexpr uint32_t kShapeAt = 0, kFirstAt = 8, kSecondAt = 16, kCheckedBoundsBytes = 24;
/// The shapes. In shared memory the halves of a row may lie apart; in global memory that is a shape
/// of its own, of loads alone.
inline constexpr uint32_t kRow = 0, kSame = 1, kAnywhere = 2, kHalves = 3;

/// Whether compiled code supports this form: 64-bit addresses of global memory, 32-bit ones of
/// shared memory, offsets that instructions can have.
bool is_usual(const Step& step, const Access& access);

/// The check that covers this step, emitted before or now; nullptr: no more room. The code leaves
/// the straight-line run if a lane is not inside.
const Emitter::CheckedBounds* check_bounds(Emitter& e, const Step& step, const Access& access,
                                           const Vectors& base);

inline Xbyak::Address on_stack(Emitter& e, const Emitter::CheckedBounds& bounds, uint32_t what) {
  return e.qword[e.rsp + static_cast<int>(bounds.at + what)];
}

/// Jumps to `out` if consecutive lanes read shared words that are not defined.
void check_row(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset,
               Xbyak::Label& out);
/// Jumps to `out` if all lanes of a half read one place that is not defined.
void check_same(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset,
                Xbyak::Label& out);
/// Marks what consecutive lanes stored as defined, if the launch checks for undefined reads.
void mark_row(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset);

/// Emits an access to vectors of two or four elements per lane.
Emit of_several(const Access& access);

}  // namespace gpuemu::emulator
