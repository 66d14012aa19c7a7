#include "runtime/emulator/machine/mbarrier.h"

#include <algorithm>
#include <cstring>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kCountBits = 20, kBytesBits = 21;

uint64_t word_at(const Block& block, uint32_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, block.shared.bytes.data() + offset, sizeof word);
  return word;
}
}  // namespace

uint64_t pack(const Mbarrier& barrier) {
  const uint64_t bytes = static_cast<uint32_t>(barrier.bytes) & ((uint32_t{1} << kBytesBits) - 1);
  return barrier.pending | uint64_t{barrier.expected} << kCountBits | bytes << (2 * kCountBits) |
         uint64_t{barrier.odd} << 63;
}

Mbarrier unpack(uint64_t word) {
  Mbarrier out;
  out.pending = static_cast<uint32_t>(word & kMbarrierCountMax);
  out.expected = static_cast<uint32_t>(word >> kCountBits & kMbarrierCountMax);
  const auto bytes = static_cast<uint32_t>(word >> (2 * kCountBits));
  out.bytes = static_cast<int32_t>(bytes << (32 - kBytesBits)) >> (32 - kBytesBits);
  out.odd = (word >> 63) != 0;
  return out;
}

MbarrierState mbarrier_state(const Block& block, uint32_t offset) {
  const auto known = block.barriers.mbarriers.find(offset);
  if (known == block.barriers.mbarriers.end()) return MbarrierState::None;
  return known->second == word_at(block, offset) ? MbarrierState::Valid
                                                 : MbarrierState::Overwritten;
}

Mbarrier read_mbarrier(const Block& block, uint32_t offset) {
  return unpack(word_at(block, offset));
}

bool write_mbarrier(Block& block, uint32_t offset, Mbarrier barrier) {
  const bool complete = barrier.pending == 0 && barrier.bytes == 0;
  if (complete) {
    barrier.odd = !barrier.odd;
    barrier.pending = barrier.expected;
    block.cluster->order();
    block.next_epoch();  // Waiters on the phase are ordered after its arrivals.
  }
  const uint64_t word = pack(barrier);
  std::memcpy(block.shared.bytes.data() + offset, &word, sizeof word);
  if (!block.shared.defined.empty()) {
    std::fill_n(block.shared.defined.begin() + offset, sizeof word, uint8_t{1});
  }
  block.barriers.mbarriers[offset] = word;
  return complete;
}

void drop_mbarrier(Block& block, uint32_t offset) { block.barriers.mbarriers.erase(offset); }

}  // namespace gpuemu::emulator
