// Records accesses of whole 16-byte pieces of shared memory, such as the rows of ldmatrix and the
// copies of cp.async, four words at a time.
#pragma once

#include <cstdint>

#include "runtime/emulator/memory/race_history.h"

namespace gpuemu::emulator {

/// One plain access by lanes of a warp.
struct PieceAccess {
  const uint64_t* address = nullptr;  ///< Offsets per lane, multiples of 16.
  uint32_t lanes = 0;
  uint32_t words = 0;    ///< Per lane; a multiple of 4.
  uint32_t self = 0;     ///< The tag of the warp in this epoch.
  uint32_t own_bit = 0;  ///< The bit of the warp in RaceWord::writers.
  uint32_t event = 0;    ///< LaneClock::now(), ordered() and read_ordered().
  uint32_t ordered = 0, read_ordered = 0;
  uint32_t site = 0;  ///< Step::cache.
};

/// Records the access as SharedRace::note does. Returns false, with nothing recorded, if it may
/// conflict with another: SharedRace then looks word by word.
bool note_piece_loads(RaceHistory& history, const PieceAccess& access);
bool note_piece_stores(RaceHistory& history, const PieceAccess& access);

/// Returns whether lanes that read `bytes` at `address` read whole pieces, all of which were
/// written and are not being copied (kInFlight). `shadow` has a byte for each byte of memory.
bool pieces_are_written(const uint8_t* shadow, const uint64_t* address, uint32_t bytes,
                        uint32_t lanes);

}  // namespace gpuemu::emulator
