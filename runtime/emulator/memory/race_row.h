// The race records of 32 consecutive words while whole rows of lanes access them, which is how most
// memory is used. A run stands for the cells (race_cell.h) of all words that one instruction of one
// warp accessed. When an access cannot be told by runs, the row is split: from then on, until the
// launch ends, its words have cells of their own.
//
// run := segment:26  form:7  bound:5  event:8  site:18        from the top bit, as in cells
//
// form: which lane accessed which word. bound: the last word of a low run, the first of a high one.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/emulator/memory/race_cell.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kRowWords = 32, kRowBytes = kRowWords * 4;
inline constexpr uint32_t kRunFormShift = 31, kRunBoundShift = 26;
inline constexpr uint32_t kRunFormBits = kCellSegmentShift - kRunFormShift;
inline constexpr uint32_t kRunBoundBits = kRunFormShift - kRunBoundShift;

/// Values of `form`. Below kNobody it is `who` of the first word; each next word has the next
/// value, except after kSeveralLanes and kUnknownLanes. From kFormOfMany on: the lane of the first
/// word, if each lane accessed two words; 32 higher if it accessed four.
inline constexpr uint32_t kFormSplit = 62, kFormSplitting = 61, kFormOfMany = 64;
/// The bound of these marks: all words, so that every access meets them.
inline constexpr uint32_t kMarkBound = kRowWords - 1;

/// The low run begins at the first word of the row, the high one ends at the last. Either may be of
/// an earlier launch, which means that there is none.
struct RaceRow {
  uint64_t reads[2];   // NOLINT(modernize-avoid-c-arrays): compiled code accesses them.
  uint64_t writes[2];  // NOLINT(modernize-avoid-c-arrays)
};

/// What a warp's access to global memory is noted with, for compiled code.
struct RowTags {
  static constexpr uint32_t kStale = ~uint32_t{0};
  uint32_t event = kStale;  ///< LaneClock::now() for which the rest is right.
  uint32_t segment = 0;
  uint64_t stem = 0;                         ///< RowAccess::stem without a site.
  uint64_t of_launch = 0;                    ///< RowAccess::of_launch.
  std::atomic<uint32_t>* pending = nullptr;  ///< The host thread's place in PendingStores.
  bool alone = false;                        ///< One host thread runs all blocks of the launch.
};

constexpr uint64_t row_count(uint64_t words) { return (words + kRowWords - 1) / kRowWords; }

/// Consecutive words of a row, accessed by lanes in ascending order.
struct RowAccess {
  uint32_t begin = 0, end = kRowWords;
  uint32_t form = 0;
  uint64_t stem = 0;       ///< The cell without lanes and bytes.
  uint64_t of_launch = 0;  ///< Cells and runs of this launch are not less.
  bool stores = false;
  bool read_only = false;  ///< A load that may miss every store of the launch.
};

/// `first`: the value of `who` for the first word. `shift`: binary logarithm of the words per lane;
/// at most kFormShiftMax, except after kUnknownLanes.
inline constexpr uint32_t kFormShiftMax = 2;
constexpr uint32_t form_of(uint32_t first, uint32_t shift) {
  const bool many = shift != 0 && first < kSeveralLanes;
  return many ? kFormOfMany + (shift - 1) * kSeveralLanes + first : first;
}
constexpr uint32_t form_in(uint64_t run) {
  return static_cast<uint32_t>(run >> kRunFormShift) & ((1u << kRunFormBits) - 1);
}
constexpr uint32_t bound_in(uint64_t run) {
  return static_cast<uint32_t>(run >> kRunBoundShift) & ((1u << kRunBoundBits) - 1);
}
constexpr uint64_t run_of(uint64_t stem, uint32_t form, uint32_t bound) {
  return stem | uint64_t{form} << kRunFormShift | uint64_t{bound} << kRunBoundShift;
}
constexpr uint32_t shift_of(uint32_t form) {
  return form < kFormOfMany ? 0 : (form - kFormOfMany) / kSeveralLanes + 1;
}
constexpr bool is_constant(uint32_t form) { return form == kSeveralLanes || form == kUnknownLanes; }
/// Returns the value of `who` for the word that lies this many words behind the first of the run.
constexpr uint32_t who_in_run(uint32_t form, uint32_t word) {
  if (is_constant(form)) return form;
  return (form < kFormOfMany ? form : form % kSeveralLanes) + (word >> shift_of(form));
}
constexpr uint64_t cell_in_run(uint64_t run, uint32_t word) {
  constexpr uint64_t kReplaced = ((uint64_t{1} << (kRunFormBits + kRunBoundBits)) - 1)
                                 << kRunBoundShift;
  return (run & ~kReplaced) | uint64_t{who_in_run(form_in(run), word)} << kCellWhoShift |
         uint64_t{0xf} << kCellBytesShift;
}

constexpr bool is_split(uint64_t low_write, uint64_t of_launch) {
  return low_write >= of_launch && form_in(low_write) == kFormSplit;
}
inline bool is_split(const RaceRow& row, uint64_t of_launch) {
  return is_split(load_cell(row.writes[0]), of_launch);
}
/// Returns whether both are reads by one warp without an event in between, which merged_reads()
/// joins.
constexpr bool is_joined(uint64_t before, uint64_t now) {
  return ((before ^ now) & kCellTime) == 0;
}
/// merged_reads() for runs of the same words; 0 if no run tells the result.
constexpr uint64_t merged_runs(uint64_t before, uint64_t now) {
  const uint32_t was = form_in(before), is = form_in(now);
  if (!is_joined(before, now) || was == is) return now;
  const bool whole = was != kUnknownLanes && is != kUnknownLanes &&
                     (was >= kFormOfMany || was <= kSeveralLanes) &&
                     (is >= kFormOfMany || is <= kSeveralLanes);
  // Lanes that advance differently may meet at some of the words.
  if (whole && was != kSeveralLanes && shift_of(was) != shift_of(is)) return 0;
  const bool several = whole && (site_in(before) != site_in(now) || was == kSeveralLanes);
  constexpr uint64_t kForm = ((uint64_t{1} << kRunFormBits) - 1) << kRunFormShift;
  return (now & ~kForm) | uint64_t{several ? kSeveralLanes : kUnknownLanes} << kRunFormShift;
}

/// Notes the access if runs can tell it and it cannot race: nothing of this launch has written the
/// words except the same lanes of the segment and, if it stores, only these have read them. False:
/// split the row, and look at its words; they may have cells of this access already. Other host
/// threads may note and split the row meanwhile.
bool note_in_row(RaceRow& row, const RowAccess& access);
/// Gives the words of a row cells of their own, if they have none yet. `reads` and `writes` are the
/// cells of its first word; there are `words` of them.
void split_row(RaceRow& row, uint64_t* reads, uint64_t* writes, uint32_t words, uint64_t of_launch);

/// Returns the cell that the runs of a row that is not split give one of its words; 0 if none of
/// the launch does.
constexpr uint64_t cell_in_runs(const uint64_t* runs, uint32_t word, uint64_t of_launch) {
  if (runs[0] >= of_launch && word <= bound_in(runs[0])) return cell_in_run(runs[0], word);
  if (runs[1] < of_launch || word < bound_in(runs[1])) return 0;
  return cell_in_run(runs[1], word - bound_in(runs[1]));
}

}  // namespace gpuemu::emulator
