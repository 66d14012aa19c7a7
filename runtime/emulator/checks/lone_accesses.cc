// Notes accesses that cannot race, which are nearly all.
#include <algorithm>
#include <bit>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/row_tags.h"

namespace gpuemu::emulator {
namespace {
/// Does what GlobalRaces::note_alone() does for loads of one word, which are most of its accesses.
/// Cells of the launch are not less than `of_launch`.
uint32_t note_word_loads(const GlobalRaces& races, const Allocation& in, const uint64_t* address,
                         uint64_t of_launch, uint64_t cell, uint32_t lanes) {
  const uint64_t base = in.base, last = in.bytes - sizeof(uint32_t);
  const uint64_t* const writes = in.races.writes.get();
  uint64_t* const reads = in.races.reads.get();
  uint64_t open = ~uint64_t{0};  // The row of the lane before.
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t at = address[lane];
    if ((at & 3) != 0 || at - base > last) return lanes;
    const uint64_t word = in.word_of(at);
    if (word / kRowWords != open) races.open_words(in, word, 1);
    open = word / kRowWords;
    if (load_cell(writes[word]) >= of_launch) return lanes;
    const uint64_t now = cell | uint64_t{lane} << kCellWhoShift, before = load_cell(reads[word]);
    store_cell(reads[word], before < of_launch ? now : merged_reads(before, now));
  }
  return 0;
}
}  // namespace

uint32_t GlobalRaces::prepare_rows(Warp& warp) {
  const uint32_t own = segment_of(warp), now = warp.ordering.clock.now();
  RowTags& tags = warp.ordering.rows;
  if (own == 0 || (tags.event == now && tags.segment == own)) return own;
  const uint32_t event = now - warp.ordering.segment_event;
  tags = {.event = now,
          .segment = own,
          .stem = cell_of({.segment = own, .who = 0, .event = event, .bytes = 0, .site = 0}),
          .of_launch = of_launch(),
          .pending = stores_.place(),
          .alone = alone_};
  return own;
}

void prepare_row_tags(Warp& warp) { warp.launch->races->prepare_rows(warp); }

void GlobalRaces::open_words(const Allocation& in, uint64_t word, uint64_t words) const {
  const uint64_t launch = of_launch(), last = (word + words - 1) / kRowWords;
  for (uint64_t row = word / kRowWords; row <= last; ++row) {
    if (is_split(in.rows[row], launch)) continue;
    const uint64_t at = row * kRowWords;
    const auto here = static_cast<uint32_t>(std::min<uint64_t>(kRowWords, in.races.words - at));
    split_row(in.rows[row], in.races.reads.get() + at, in.races.writes.get() + at, here, launch);
  }
}

void GlobalRaces::note_run(RowNotes& notes, const WordRun& run) const {
  const bool constant = run.first == kUnknownLanes;
  // Rows must begin where a lane's words begin.
  const bool fits = constant || (run.shift <= kFormShiftMax &&
                                 (run.word & ((uint64_t{1} << run.shift) - 1)) == 0);
  const uint64_t end = run.word + run.words;
  for (uint64_t word = run.word; word < end;) {
    const auto begin = static_cast<uint32_t>(word % kRowWords);
    const auto words = static_cast<uint32_t>(std::min<uint64_t>(kRowWords - begin, end - word));
    const auto skipped = static_cast<uint32_t>(word - run.word);
    const uint32_t first = constant ? run.first : run.first + (skipped >> run.shift);
    RaceRow& row = notes.in.rows[word / kRowWords];
    const bool noted = fits && note_in_row(row, {.begin = begin,
                                                 .end = begin + words,
                                                 .form = form_of(first, run.shift),
                                                 .stem = notes.stem,
                                                 .of_launch = of_launch(),
                                                 .stores = notes.stores,
                                                 .read_only = notes.read_only && !notes.stores});
    if (!noted) {
      open_words(notes.in, word, words);
      notes.left[notes.left_count++] = {word, words, first, run.shift};
    }
    word += words;
  }
}

uint32_t GlobalRaces::note_consecutive(const Allocation& in, const uint64_t* address,
                                       uint32_t bytes, RowNotes how, uint32_t lanes) const {
  constexpr uint32_t kBytesMax = 4 << kFormShiftMax;
  const auto first = static_cast<uint32_t>(std::countr_zero(lanes)),
             count = static_cast<uint32_t>(std::popcount(lanes));
  const bool fits = bytes >= 4 && bytes <= kBytesMax && std::has_single_bit(bytes) && count > 1 &&
                    uint64_t{lanes} >> first == (uint64_t{1} << count) - 1;
  if (!fits || in.rows == nullptr) return lanes;
  const uint64_t begin = address[first];
  if ((begin & 3) != 0 || !in.contains(begin, uint64_t{bytes} * count)) return lanes;
  for (uint32_t i = 1; i < count; ++i) {
    if (address[first + i] != begin + uint64_t{i} * bytes) return lanes;
  }
  WordRun left[RowNotes::kLeftMax];
  how.left = left;
  const auto shift = static_cast<uint32_t>(std::countr_zero(bytes / 4));
  note_run(how, {in.word_of(begin), bytes / 4 * count, first, shift});
  uint32_t rest = 0;
  for (uint32_t i = 0; i < how.left_count; ++i) {
    // A lane's words may lie in two rows.
    const uint64_t from = left[i].word - in.word_of(begin), to = from + left[i].words - 1;
    for (uint64_t lane = from >> shift; lane <= to >> shift; ++lane) {
      rest |= uint32_t{1} << (first + lane);
    }
  }
  return rest;
}

uint32_t GlobalRaces::note_alone(const Allocation& in, const uint64_t* address, uint32_t bytes,
                                 bool stores, uint64_t cell, uint32_t lanes) const {
  if ((bytes & 3) != 0 || in.rows == nullptr) return lanes;
  const uint64_t of_launch = this->of_launch();
  if (bytes == sizeof(uint32_t) && !stores) {
    return note_word_loads(*this, in, address, of_launch, cell, lanes);
  }
  const uint64_t base = in.base, words = bytes / 4, last = in.bytes - bytes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t at = address[lane];
    if ((at & 3) != 0 || at - base > last) return lanes;
    const uint64_t now = cell | uint64_t{lane} << kCellWhoShift;
    open_words(in, in.word_of(at), words);
    uint64_t* const writes = in.races.writes.get() + in.word_of(at);
    uint64_t* const reads = in.races.reads.get() + in.word_of(at);
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
