// Slow paths of memory accesses: what the handlers call when the fast checks do not hold, and the
// shadows of the sanitizers.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

enum class Access : uint8_t { Load, Store, Atomic };
/// "reads", "writes" or "updates".
const char* verb(Access access);

/// Lanes that did wrong at one instruction: one finding for all of them.
struct Tally {
  uint32_t lanes = 0;
  uint32_t first = 0;
  void note(uint32_t lane) {
    if (lanes == 0) first = lane;
    lanes |= uint32_t{1} << lane;
  }
  uint64_t count() const { return static_cast<uint64_t>(std::popcount(lanes)); }
};

/// Lanes (of warp.mask) that may access `bytes` at their global address; the rest is reported.
uint32_t resolve_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                        Access access);
/// The same for offsets into shared memory. Also runs the definedness check for loads.
uint32_t resolve_shared(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                        Access access);
uint32_t resolve_local(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                       Access access);
/// Offsets into the entry's parameters, whose address was taken.
uint32_t resolve_param(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes);
/// For accesses that parameters do not allow.
/// Reads of the parameters' bytes by `lanes`: elements where no parameter lies are undefined.
void note_param_gaps(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                     uint32_t lanes);
void refuse_param(Warp& warp, const Ins& ins, const uint64_t* address);

/// Marks stored bytes as defined. With the check `writes`, those that were are found.
void define_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                   uint32_t lanes);

/// Sets warp.mask to each memory space's lanes in turn and calls `run` with addresses of that
/// space.
using SpaceHandler = void (*)(Warp&, const Ins&, const uint64_t* address);
struct SpaceHandlers {
  SpaceHandler global, shared, local, param;
};
void split_generic(Warp& warp, const Ins& ins, uint64_t* address, const SpaceHandlers& handlers);

}  // namespace gpuemu::emulator
