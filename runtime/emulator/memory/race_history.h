// The race histories of all words of shared memory, stored field by field, so that a warp's
// accesses to consecutive words are checked and recorded with a few vector instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/emulator/memory/race_word.h"

namespace gpuemu::emulator {

/// The fields of RaceWord: four for the last write, four for the last read. A note holds the site
/// in its low bits, and above it the bytes and the parts.
enum class RaceField : uint8_t {
  Write,
  WriteLanes,
  WriteEvent,
  WriteNote,
  Read,
  ReadLanes,
  ReadEvent,
  ReadNote,
  Writers,
};
inline constexpr uint32_t kRaceFields = 9;
inline constexpr uint32_t kRaceBytesPerWord = kRaceFields * sizeof(uint32_t);

inline constexpr uint32_t kNoteBytesShift = kSiteBits, kNotePartsShift = kSiteBits + 4;
constexpr uint32_t race_note(uint32_t site, uint32_t bytes, uint32_t parts) {
  return (site_number(site) & kSiteMask) | bytes << kNoteBytesShift | parts << kNotePartsShift;
}
/// The smallest note for lanes that accessed the whole word.
inline constexpr uint32_t kWholeNote = kWholeWord << kNotePartsShift;

/// A load by a whole warp that the history does not have yet. Each half of the warp reads
/// consecutive words, or all its lanes read one place.
struct PendingLoad {
  uint64_t halves[2];  ///< The host address that the first lane of each half reads, less `offset`.
  uint32_t event;      ///< LaneClock::now().
  uint32_t warp;       ///< The tag of the warp, without the epoch.
  uint32_t what;       ///< what_is_read().
  int32_t offset;
};
/// `log_words`: binary logarithm of the words per lane.
constexpr uint32_t what_is_read(uint32_t site, uint32_t log_words, bool one_place) {
  return site_number(site) | log_words << kSiteBits | uint32_t{one_place} << (kSiteBits + 2);
}

/// The part of a history that compiled code accesses.
struct RaceTags {
  uint32_t epoch = 0;  ///< Smallest tag of the current epoch; the next epoch's is 2^kWarpBits
                       ///< higher.
  uint32_t many = 0;   ///< Tag of words that several warps read in this epoch, every byte of them.
  /// Distance in bytes from a word of shared memory to each of its fields.
  std::array<uint64_t, kRaceFields> beyond{};
  /// The loads of this epoch that are pending: from `first` to `next`. While nothing was written,
  /// loads cannot race, so they are only listed, and mostly forgotten at the next barrier.
  PendingLoad *first = nullptr, *next = nullptr;
  PendingLoad* end = nullptr;  ///< `first` after a write: then loads are noted at once.
};

class RaceHistory {
 public:
  /// Prepares for `words` words at `shared`, which must not move afterwards.
  void resize(uint64_t words, const std::byte* shared) {
    words_ = words;
    stride_ = (words / kLine + 1) * kLine;
    fields_.assign(stride_ * kRaceFields, 0);
    for (uint32_t i = 0; i < kRaceFields; ++i) {
      tags_.beyond[i] = reinterpret_cast<uint64_t>(fields_.data() + i * stride_) -
                        reinterpret_cast<uint64_t>(shared);
    }
  }
  /// Lets compiled code list loads.
  void keep_pending() { pending_ = std::make_unique_for_overwrite<PendingLoad[]>(kPendingMax); }
  bool empty() const { return fields_.empty(); }
  uint64_t words() const { return words_; }
  /// Forgets all accesses.
  void forget() { std::ranges::fill(fields_, 0); }
  void begin_epoch(uint32_t epoch) {
    tags_.epoch = epoch << kWarpBits;
    tags_.many = tags_.epoch | kMany;
    tags_.first = tags_.next = pending_.get();
    tags_.end = tags_.first + (pending_ == nullptr ? 0 : kPendingMax);
  }
  const RaceTags& tags() const { return tags_; }
  RaceTags& tags() { return tags_; }
  /// Notes the loads that are pending. Call it before anything else is noted or looked up;
  /// `written`: what is noted next may be a write.
  void settle(bool written) {
    if (tags_.next != tags_.first) note_pending();
    if (written) tags_.end = tags_.first;
  }

  uint32_t* field(RaceField which) {
    return fields_.data() + static_cast<uint32_t>(which) * stride_;
  }
  uint32_t& at(RaceField which, uint64_t word) { return field(which)[word]; }

  bool is_current(uint32_t tag) const { return tag - tags_.epoch < (1u << kWarpBits); }
  /// Returns whether a load of the whole word by `lanes`, of the warp with tag `self`, may conflict
  /// with a write: by another warp, or by other lanes that no event since `ordered` orders.
  bool is_written(uint64_t word, uint32_t self, uint32_t lanes, uint32_t ordered) {
    const uint32_t write = at(RaceField::Write, word);
    if (!is_current(write)) return false;
    return write != self || (at(RaceField::WriteEvent, word) >= ordered &&
                             (at(RaceField::WriteLanes, word) != lanes ||
                              at(RaceField::WriteNote, word) < kWholeNote));
  }
  /// Records such a load.
  void note_whole_read(uint64_t word, uint32_t self, uint32_t lanes, uint32_t event,
                       uint32_t site) {
    uint32_t& read = at(RaceField::Read, word);
    if (read == tags_.many) return;
    if (read == self && at(RaceField::ReadEvent, word) == event &&
        at(RaceField::ReadNote, word) >= kWholeNote) {
      lanes |= at(RaceField::ReadLanes, word);
    }
    read = read != self && is_current(read) ? tags_.many : self;
    at(RaceField::ReadLanes, word) = lanes;
    at(RaceField::ReadEvent, word) = event;
    at(RaceField::ReadNote, word) = race_note(site, kWholeWord, kWholeWord);
  }

  RaceWord load(uint64_t word) const {
    const auto get = [&](RaceField which) {
      return fields_[static_cast<uint32_t>(which) * stride_ + word];
    };
    const uint32_t write_note = get(RaceField::WriteNote), read_note = get(RaceField::ReadNote);
    return {.write = get(RaceField::Write),
            .read = get(RaceField::Read),
            .writers = get(RaceField::Writers),
            .write_lanes = get(RaceField::WriteLanes),
            .read_lanes = get(RaceField::ReadLanes),
            .write_event = get(RaceField::WriteEvent),
            .read_event = get(RaceField::ReadEvent),
            .write_site = write_note & kSiteMask,
            .written_bytes = write_note >> kNoteBytesShift & kWholeWord,
            .write_parts = write_note >> kNotePartsShift,
            .read_site = read_note & kSiteMask,
            .read_bytes = read_note >> kNoteBytesShift & kWholeWord,
            .read_parts = read_note >> kNotePartsShift};
  }
  void store(uint64_t word, const RaceWord& seen) {
    at(RaceField::Write, word) = seen.write;
    at(RaceField::Writers, word) = seen.writers;
    at(RaceField::WriteLanes, word) = seen.write_lanes;
    at(RaceField::WriteEvent, word) = seen.write_event;
    at(RaceField::WriteNote, word) =
        race_note(seen.write_site, seen.written_bytes, seen.write_parts);
    at(RaceField::Read, word) = seen.read;
    at(RaceField::ReadLanes, word) = seen.read_lanes;
    at(RaceField::ReadEvent, word) = seen.read_event;
    at(RaceField::ReadNote, word) = race_note(seen.read_site, seen.read_bytes, seen.read_parts);
  }

 private:
  /// Fields begin on different cache lines, whatever the size of shared memory.
  static constexpr uint64_t kLine = 64 / sizeof(uint32_t);
  /// As many as stay in a processor's cache.
  static constexpr size_t kPendingMax = 2048;

  void note_pending();

  RaceTags tags_;
  uint64_t words_ = 0, stride_ = 0;
  std::vector<uint32_t> fields_;
  std::unique_ptr<PendingLoad[]> pending_;  ///< Null: loads are noted at once.
};

}  // namespace gpuemu::emulator
