// The mbarrier object: eight bytes of shared memory that count arrivals and bytes.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuemu::emulator {

struct Block;

struct Mbarrier {
  uint32_t pending = 0;   ///< Arrivals that this phase waits for.
  uint32_t expected = 0;  ///< Arrivals of the next phase.
  int32_t bytes = 0;  ///< Bytes that this phase still waits for; negative if they arrived early.
  bool odd = false;   ///< Parity of the phase.
};

/// Largest number of arrivals and of bytes.
inline constexpr uint32_t kMbarrierCountMax = (uint32_t{1} << 20) - 1;

uint64_t pack(const Mbarrier& barrier);
Mbarrier unpack(uint64_t word);

enum class MbarrierState : uint8_t { None, Overwritten, Valid };
/// What lies at an offset of the block's shared memory.
MbarrierState mbarrier_state(const Block& block, uint32_t offset);
Mbarrier read_mbarrier(const Block& block, uint32_t offset);
/// Stores the mbarrier and ends the phase if nothing is pending; returns whether it did.
bool write_mbarrier(Block& block, uint32_t offset, Mbarrier barrier);
void drop_mbarrier(Block& block, uint32_t offset);

}  // namespace gpuemu::emulator
