// The mbarrier object: eight bytes of shared memory that count arrivals and transferred bytes.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuemu::emulator {

struct Block;

struct Mbarrier {
  uint32_t pending = 0;   ///< Arrivals still missing in this phase.
  uint32_t expected = 0;  ///< Arrivals that the next phase needs.
  int32_t bytes = 0;      ///< Bytes still missing in this phase; negative if they arrived early.
  bool odd = false;       ///< Parity of the phase.
};

/// Limit for both the arrivals and the bytes.
inline constexpr uint32_t kMbarrierCountMax = (uint32_t{1} << 20) - 1;

uint64_t pack(const Mbarrier& barrier);
Mbarrier unpack(uint64_t word);

enum class MbarrierState : uint8_t { None, Overwritten, Valid };
/// Returns what is stored at an offset of the block's shared memory.
MbarrierState mbarrier_state(const Block& block, uint32_t offset);
Mbarrier read_mbarrier(const Block& block, uint32_t offset);
/// Stores the mbarrier, and completes the phase if nothing is pending. Returns whether it did.
bool write_mbarrier(Block& block, uint32_t offset, Mbarrier barrier);
void drop_mbarrier(Block& block, uint32_t offset);

}  // namespace gpuemu::emulator
