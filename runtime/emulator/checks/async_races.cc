#include "runtime/emulator/checks/async_races.h"

#include <algorithm>
#include <array>

#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {
void note_source(Warp& warp, const AsyncCopy& copy, uint32_t lanes) {
  if (warp.launch->races == nullptr || warp.control.depth == 0 || &warp.code() != copy.code) return;
  uint32_t whole = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    if (copy.size[lane] == copy.bytes) whole |= uint32_t{1} << lane;
    if (copy.size[lane] == copy.bytes || copy.size[lane] == 0) continue;
    after_global(warp, *copy.step, copy.from.data(), copy.size[lane], Access::Load,
                 uint32_t{1} << lane);
  }
  if (whole != 0) after_global(warp, *copy.step, copy.from.data(), copy.bytes, Access::Load, whole);
}

void note_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lanes) {
  Block& block = *warp.block;
  if (block.shared.race_history.empty()) return;
  // In another function than the copy's, the write is only recorded, for later accesses.
  if (warp.control.depth != 0 && &warp.code() == copy.code) {
    std::array<uint64_t, kLanes> to{};
    std::ranges::copy(copy.to, to.begin());
    return note_shared(warp, *copy.step, to.data(), copy.bytes, Access::Store, lanes, 0);
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    for (uint32_t word = copy.to[lane] / 4; word <= (copy.to[lane] + copy.bytes - 1) / 4; ++word) {
      RaceWord written = block.shared.races().load(word);
      written.write = block.shared.epoch << kWarpBits | (warp.index + 1);
      written.write_site = site_number(copy.site);
      written.writers = uint32_t{1} << warp.index;
      written.write_lanes = uint32_t{1} << lane;
      written.write_event = warp.ordering.clock.now();
      written.written_bytes = written.write_parts = kWholeWord;
      block.shared.races().store(word, written);
    }
  }
}

}  // namespace gpuemu::emulator
