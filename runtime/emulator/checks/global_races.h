// Detects races in global memory: between blocks, between warps of one block without a barrier, and
// between the lanes of one warp.
//
// Every word has a record of its last write and its last read; rows of words that are accessed as a
// whole have one for all of them (race_row.h). Each record names a segment: what
// one warp does between two barriers or fences. Barriers order the segments of one block. Segments
// of different blocks are ordered if the first block executes a fence and then an atomic or
// volatile access, and the second block an atomic or volatile access after that, at whatever
// addresses. So too many pairs may count as ordered, never too few. The fence may be in the
// segment's own warp, or in another one after a barrier. Accesses with scope .cta order nothing
// between blocks and are not atomic there. Memory that ld.global.nc reads must not be written by
// any thread of the launch, in any order. Lanes of one segment are ordered by their warp's events
// (lane_clock.h). All methods are thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/flag_order.h"
#include "runtime/emulator/checks/pending_stores.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/memory/race_cell.h"

namespace gpuemu::emulator {

/// Evidence that a race changes no result, one bit each.
using Evidence = uint32_t;
inline constexpr Evidence kUnusedReads = 1;  ///< The values read affect no result.
inline constexpr Evidence kEqualStores = 2;  ///< The stored values are equal apart from rounding.
inline constexpr Evidence kNoEvidence = 4;   ///< No evidence could excuse the race.

/// Words of an allocation that lanes access in ascending order: word w by lane first + (w >>
/// shift), or by who else `first` names (race_cell.h). Has no initial values, so that an array of
/// them is not cleared at every access.
struct WordRun {
  uint64_t word;
  uint32_t words, first, shift;
};
/// One instruction's access to runs of words.
struct RowNotes {
  /// Four runs of eight lanes lie in up to three rows each, one run of a warp in up to nine, with
  /// the widest accesses: 32 bytes per lane.
  static constexpr uint32_t kLeftMax = 16;

  const Allocation& in;
  uint64_t stem;  ///< The cell without lanes and bytes.
  bool stores, read_only;
  WordRun* left;  ///< The parts that are not noted yet; their words have cells.
  uint32_t left_count = 0;
};

class GlobalRaces {
 public:
  /// Numbers segments from `first` on; cells with lower numbers come from earlier launches.
  /// `awaits`: Program::awaits. `most`: of segments, at most kRaceSegmentsMax.
  GlobalRaces(uint32_t first, bool awaits, PendingStores& stores, uint32_t most)
      : first_(first),
        most_(most),
        next_(first),
        stores_(stores),
        flags_(awaits ? std::make_unique<FlagOrder>() : nullptr) {
    chunks_[0] = first_chunk_;
  }
  ~GlobalRaces();
  GlobalRaces(const GlobalRaces&) = delete;
  GlobalRaces& operator=(const GlobalRaces&) = delete;

  /// Call it before the access, because stores are compared with the values that they replace.
  void note(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes, Access access,
            uint32_t lanes);
  /// Notes a run of an access where whole rows tell it and it cannot race; adds the rest to
  /// `notes.left`.
  void note_run(RowNotes& notes, const WordRun& run) const;
  /// Gives words cells of their own. Call it before anything looks at them.
  void open_words(const Allocation& in, uint64_t word, uint64_t words) const;
  /// Marks a store as pending, from when it is recorded until it is made. Another host thread that
  /// compares values with it waits until then. note() begins it for the st instructions of
  /// `segment`.
  void begin_store(uint32_t segment) { stores_.begin(segment); }
  void end_store() { stores_.end(); }
  /// Call it before the launch if one host thread runs all of its blocks.
  void run_alone() { alone_ = true; }
  /// Call it at an atomic or volatile access with a scope wider than a block: before one that
  /// writes, and after one that only reads. Does nothing in programs that read no flags or
  /// counters.
  void note_flags(Warp& warp, const Step& step, const uint64_t* address, Access access,
                  uint32_t lanes);
  /// Call it at a fence with a scope wider than a block.
  void fence(Warp& warp);
  /// Call it before and after an atomic or volatile access.
  void publish(Block& block);
  void acquire(Block& block);

  /// Returns the warp's current segment; 0 if there are too many segments.
  uint32_t segment_of(Warp& warp) {
    const bool known = warp.ordering.segment != 0 &&
                       warp.ordering.segment_epoch == warp.block->shared.epoch &&
                       warp.ordering.clock.now() - warp.ordering.segment_event < kCellEventsMax;
    return known ? warp.ordering.segment : new_segment(warp);
  }
  /// Brings warp.ordering.rows up to date. Returns the warp's current segment, as segment_of().
  uint32_t prepare_rows(Warp& warp);
  /// Cells with lower segment numbers come from earlier launches.
  uint32_t first() const { return first_; }
  uint32_t next() const { return next_.load(std::memory_order_relaxed); }
  /// Returns whether there were too many segments to look for all races.
  bool is_full() const { return is_full_.load(std::memory_order_relaxed); }
  uint32_t most() const { return most_; }

 private:
  /// Has no initial values, so that a chunk of them is not cleared.
  struct Segment {
    uint64_t block;
    uint32_t warp, epoch, fences, sync_ops;
    uint32_t event;  ///< LaneClock::now() when it began.
  };
  struct Seen {
    uint32_t segment = 0, site = 0;
    bool read_before = false, atomic = false;
    bool narrow = false;     ///< Atomic, but with a scope too narrow for these two blocks.
    bool read_only = false;  ///< Was read by ld.global.nc.
    uint32_t others = 0;     ///< Lanes of this warp; 0: the access was by another warp.
  };
  /// The races of one access.
  struct Found {
    Tally bad;
    Seen seen;               ///< The first of the other accesses.
    uint32_t flag_site = 0;  ///< Where a flag was written that announced it without a fence.
    Evidence needed = 0;     ///< What would show that they change no result.
  };
  /// The access of one lane, or of several lanes to one word.
  struct Touch {
    const Step& step;
    Access access;
    uint32_t own;  ///< The warp's current segment.
    uint32_t lanes;
    const uint64_t* address;
    uint32_t bytes;  ///< Per lane.
    uint32_t event;  ///< Events since the segment began.
    Reach reach = Reach::Plain;
    bool is_volatile = false;  ///< A volatile load.
  };
  /// The cells of one 4-byte word, and the bytes of it that are accessed.
  struct RaceCells {
    uint64_t& last_write;
    uint64_t& last_read;
    uint64_t at;  ///< Its address.
    uint32_t bits;
  };
  /// Segments in the first chunk; each further chunk has twice as many. Most launches need one.
  static constexpr uint32_t kFirstChunk = 64;
  static constexpr uint32_t kChunks = std::bit_width(kRaceSegmentsMax / kFirstChunk);

  struct Place {
    uint32_t chunk = 0, at = 0;
  };
  Place place_of(uint32_t number) const {
    const uint32_t beyond = number - first_ + kFirstChunk;
    const auto chunk = static_cast<uint32_t>(std::bit_width(beyond / kFirstChunk)) - 1;
    return {.chunk = chunk, .at = beyond - (kFirstChunk << chunk)};
  }

  /// Cells and runs of this launch are not less.
  uint64_t of_launch() const { return uint64_t{first_} << kCellSegmentShift; }
  uint32_t new_segment(Warp& warp);
  std::optional<Seen> note_reading(const Touch& touch, const RaceCells& cells,
                                   std::optional<Seen> before) const;
  bool too_narrow(const Touch& touch, uint64_t written, const Warp& now) const;
  static bool writes_same(Warp& warp, const Touch& touch);
  /// Notes accesses of `lanes`, in order, to whole words that cannot race: nothing of this launch
  /// has written them and, if they are stores, only the lane itself has read them since the segment
  /// began. Returns the lanes from the first one on that is outside of `in` or must be examined, of
  /// which nothing is noted. `cell` describes the access of lane 0.
  uint32_t note_alone(const Allocation& in, const uint64_t* address, uint32_t bytes, bool stores,
                      uint64_t cell, uint32_t lanes) const;
  /// Notes accesses of consecutive lanes to consecutive words, as far as note_run() does. Returns
  /// the lanes of which words are left.
  uint32_t note_consecutive(const Allocation& in, const uint64_t* address, uint32_t bytes,
                            RowNotes how, uint32_t lanes) const;
  /// Waits until another host thread has made the stores it recorded for segment `other`, then
  /// compares again.
  bool same_soon(Warp& warp, const Touch& touch, uint32_t other) const;
  /// For a volatile load, which does not wait: returns an ordinary store of another block that the
  /// load may miss, because no fence follows the store. A volatile store counts if a flag announced
  /// it; `flag_site` gets where that was written. Seen has no room for it, because it is passed on
  /// for each word of each access.
  std::optional<Seen> unfenced_store(Warp& warp, const Touch& touch, const RaceCells& cells,
                                     uint32_t& flag_site);
  /// Returns the evidence that would show that this race changes no result. `written` is the cell
  /// of the word's last write before the access.
  Evidence evidence_for(Warp& warp, const Touch& touch, const RaceCells& cells, const Seen& race,
                        uint64_t written);
  void note_words(Warp& warp, const Touch& touch, const Allocation& in, Found& found);
  void report(Warp& warp, const Step& step, Access access, const Found& found,
              const uint64_t* address);
  /// Returns the access that races with this one, if there is one.
  std::optional<Seen> note_word(Warp& warp, const Touch& touch, const RaceCells& cells);
  static uint32_t who_touches(const Touch& touch, uint64_t at);
  uint32_t unordered_lanes(const Warp& warp, const Touch& touch, uint64_t at, uint64_t cell,
                           bool reads) const;
  std::optional<Seen> note_in_warp(Warp& warp, const Touch& touch, const RaceCells& cells) const;
  const Segment& segment(uint32_t number) const;
  bool ordered(const Segment& before, const Warp& now);
  /// Returns whether the segment is of this warp and only fences came after it.
  bool is_of(const Warp& warp, uint32_t number) const;
  bool conflicts(Warp& warp, uint64_t cell, uint32_t bytes_bits, uint32_t own) const;
  void report_in_warp(Warp& warp, const Step& step, Access access, const Found& found,
                      uint64_t address);
  void report_race(Warp& warp, const Step& step, Access access, const Found& found,
                   uint64_t address);

  const uint32_t first_, most_;
  std::atomic<bool> is_full_ = false;
  bool alone_ = false;
  std::atomic<uint32_t> next_;
  std::atomic<uint64_t> clock_ = 1;
  PendingStores& stores_;
  std::array<std::atomic<Segment*>, kChunks + 1> chunks_{};
  Segment first_chunk_[kFirstChunk];  // NOLINT(modernize-avoid-c-arrays): it is not initialised.
  const std::unique_ptr<FlagOrder> flags_;  ///< Null if not Program::awaits.
  mutable std::mutex mutex_;  ///< Guards the members below, and the creation of chunks.
  struct Fence {
    uint32_t warp = 0, epoch = 0, sync_ops = 0;
    uint64_t published = 0;  ///< Time from which its earlier accesses are visible; 0: not yet.
  };
  std::map<uint64_t, std::vector<Fence>> fences_;  ///< By block.
};

}  // namespace gpuemu::emulator
