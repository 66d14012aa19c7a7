// Plans the bounds checks of compiled code. All accesses of a straight line through one address
// register share a check, which tests that every lane is in bounds and aligned, and finds the shape
// of the access: consecutive, one place, or scattered. Failing accesses are left to the handlers
// before any of them is done.
#pragma once

#include "runtime/emulator/jit/operations.h"

namespace gpuemu::emulator {

struct Access {
  bool is_store = false, is_shared = false;
  uint32_t element = 4;  ///< Bytes.
  bool is_signed = false;
  bool init = false, race = false;  ///< Checks of the launch (Accesses).

  bool notes_rows() const { return race && !is_shared; }
};

/// What a check stores on the stack: the shape of the access, and the host addresses of the first
/// lane of each half of the warp, without the instruction's own offset. For global memory only the
/// first half's address is stored, because the second half continues it, unless the shape is
/// kHalves. For a store to global memory, the second slot instead holds the distance from the
/// memory to its definedness marks (AllocationBounds::marks), if they are needed. The last slot
/// holds the allocation, if the access is noted in its race records.
inline constexpr uint32_t kShapeAt = 0, kFirstAt = 8, kSecondAt = 16, kAllocationAt = 24,
                          kCheckedBoundsBytes = 32;
/// The shapes. In shared memory the two halves of a row may be apart; in global memory that is the
/// separate shape kHalves, for loads only.
inline constexpr uint32_t kRow = 0, kSame = 1, kAnywhere = 2, kHalves = 3;

/// Returns whether compiled code supports this form: 64-bit addresses for global memory, 32-bit
/// ones for shared memory, and offsets that fit an instruction.
bool is_usual(const Step& step, const Access& access);

/// Returns the check that covers this step, emitted earlier or now; null if there is no more room.
/// The code leaves the straight line if a lane is out of bounds. `vectors` are the addresses; with
/// AVX2 they are read from the frame.
const Emitter::CheckedBounds* check_bounds(Emitter& e, const Step& step, const Access& access,
                                           const Vectors& vectors);

inline Xbyak::Address on_stack(Emitter& e, const Emitter::CheckedBounds& bounds, uint32_t what) {
  return e.qword[e.rsp + static_cast<int>(bounds.at + what)];
}

/// Jumps to `out` if consecutive lanes read undefined words of shared memory.
void check_row(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset,
               Xbyak::Label& out);
/// Jumps to `out` if all lanes of a half read one undefined place.
void check_same(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset,
                Xbyak::Label& out);
/// Marks the bytes that consecutive lanes stored as defined, if the launch checks undefined reads.
void mark_row(Emitter& e, const Access& access, const Emitter::CheckedBounds& bounds, int offset);

/// Emits an access to vectors of two or four elements per lane.
Emit of_several(const Access& access);
/// Emits an access for AVX2.
Emit through_frame(const Access& access);

}  // namespace gpuemu::emulator
