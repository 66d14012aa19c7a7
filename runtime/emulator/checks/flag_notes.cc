// Tells FlagOrder which words a launch waits for and which it writes.
#include <bit>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {

void GlobalRaces::note_flags(Warp& warp, const Step& step, const uint64_t* address, Access access,
                             uint32_t lanes) {
  if (flags_ == nullptr) return;
  const MemoryOperands& operands = *step.memory();
  const Block& block = *warp.block;
  const uint64_t self = block.position.linear;
  FlagOrder::Write write;
  if (access != Access::Load) {
    write = {.block = self,
             .warp = warp.index,
             .epoch = block.shared.epoch,
             .segment = segment_of(warp),
             .site = step.cache(),
             .is_store = access == Access::Store};
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t first = address[lane], end = first + operands.bytes;
    for (uint64_t at = first & ~uint64_t{3}; at < end; at += 4) {
      if (operands.is_awaited) flags_->awaited(at, self);
      if (write.segment != 0) flags_->wrote(at, write);
    }
  }
}

}  // namespace gpuemu::emulator
