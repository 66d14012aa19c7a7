#include "runtime/emulator/memory/race_history.h"

namespace gpuemu::emulator {

void RaceHistory::note_pending() {
  constexpr uint32_t kLanesOfHalf = 16;
  // A list that is full ends here: its loads are noted at once from now on.
  if (tags_.next == tags_.end) tags_.end = tags_.first;
  const PendingLoad* const end = tags_.next;
  tags_.next = tags_.first;
  for (const PendingLoad* load = tags_.first; load != end; ++load) {
    const uint32_t site = load->what & kSiteMask, log_words = load->what >> kSiteBits & 3;
    const bool one_place = load->what >> (kSiteBits + 2) != 0;
    const uint32_t words = (one_place ? 1 : kLanesOfHalf) << log_words;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint64_t at = load->halves[half] + static_cast<int64_t>(load->offset) -
                          (reinterpret_cast<uint64_t>(fields_.data()) - tags_.beyond[0]);
      const uint32_t lanes = (one_place ? (1u << kLanesOfHalf) - 1 : 1) << half * kLanesOfHalf;
      for (uint32_t word = 0; word < words; ++word) {
        note_whole_read(at / sizeof(uint32_t) + word, tags_.epoch | load->warp,
                        one_place ? lanes : lanes << (word >> log_words), load->event, site);
      }
    }
  }
}

}  // namespace gpuemu::emulator
