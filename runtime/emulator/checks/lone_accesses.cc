// Notes accesses that cannot race, which are nearly all.
#include <bit>

#include "runtime/emulator/checks/global_races.h"

namespace gpuemu::emulator {
namespace {
/// Does what GlobalRaces::note_alone() does for loads of one word, which are most of its accesses.
/// Cells of the launch are not less than `of_launch`.
uint32_t note_word_loads(const Allocation& in, const uint64_t* address, uint64_t of_launch,
                         uint64_t cell, uint32_t lanes) {
  const uint64_t base = in.base, last = in.bytes - sizeof(uint32_t);
  const uint64_t* const writes = in.last_writes.get();
  uint64_t* const reads = in.last_reads.get();
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t at = address[lane];
    if ((at & 3) != 0 || at - base > last) return lanes;
    const uint64_t word = in.word_of(at);
    if (load_cell(writes[word]) >= of_launch) return lanes;
    const uint64_t now = cell | uint64_t{lane} << kCellWhoShift, before = load_cell(reads[word]);
    store_cell(reads[word], before < of_launch ? now : merged_reads(before, now));
  }
  return 0;
}
}  // namespace

uint32_t GlobalRaces::note_alone(const Allocation& in, const uint64_t* address, uint32_t bytes,
                                 bool stores, uint64_t cell, uint32_t lanes) const {
  if ((bytes & 3) != 0 || in.last_writes == nullptr) return lanes;
  const uint64_t of_launch = uint64_t{first_} << kCellSegmentShift;  // Cells of it are not less.
  if (bytes == sizeof(uint32_t) && !stores) {
    return note_word_loads(in, address, of_launch, cell, lanes);
  }
  const uint64_t base = in.base, words = bytes / 4, last = in.bytes - bytes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t at = address[lane];
    if ((at & 3) != 0 || at - base > last) return lanes;
    const uint64_t now = cell | uint64_t{lane} << kCellWhoShift;
    uint64_t* const writes = in.last_writes.get() + in.word_of(at);
    uint64_t* const reads = in.last_reads.get() + in.word_of(at);
    for (uint64_t word = 0; word < words; ++word) {
      if (load_cell(writes[word]) >= of_launch) return lanes;
      if (!stores) continue;
      const uint64_t read = load_cell(reads[word]);
      if (read >= of_launch && ((read ^ now) >> kCellWhoShift) != 0) return lanes;
    }
    for (uint64_t word = 0; word < words; ++word) {
      if (stores) {
        store_cell(writes[word], now);
      } else {
        const uint64_t before = load_cell(reads[word]);
        store_cell(reads[word], before < of_launch ? now : merged_reads(before, now));
      }
    }
  }
  return 0;
}

}  // namespace gpuemu::emulator
