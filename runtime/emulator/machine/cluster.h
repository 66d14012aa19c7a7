// Blocks that run together and see each other's shared memory.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Addresses of shared memory: the low bits are the offset in a block's; above stands nothing for
/// the own block, else the rank of the block in its cluster plus one.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint64_t kSharedOffsetMask = (uint64_t{1} << kRankShift) - 1;
inline constexpr uint64_t kRankMask = 0xff;

struct SharedPlace {
  Block* block = nullptr;
  uint32_t offset = 0;
};

/// The block that a shared or generic address of shared memory belongs to; none beyond the cluster.
Block* block_of(const Warp& warp, uint64_t address);
/// The place of `bytes` at such an address, aligned to them (16 at most), or a report.
std::optional<SharedPlace> locate_shared(Warp& warp, const Ins& ins, uint64_t address,
                                         uint32_t lane, uint64_t bytes);

}  // namespace gpuemu::emulator
