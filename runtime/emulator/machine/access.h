// Slow paths of memory accesses: what the handlers call when the fast checks do not hold, and the
// shadows of the sanitizers.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

enum class Access : uint8_t { Load, Store, Atomic };

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
void refuse_param(Warp& warp, const Ins& ins, const uint64_t* address);

/// Race detector; for stores `same_value` are the lanes that write what is already there.
void note_shared(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes, Access access,
                 uint32_t lanes, uint32_t same_value);

/// Marks stored bytes as defined.
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
