// The record that the global race detector keeps for the last write and the last read of a word.
//
// cell := segment:26  who:6  atomic:1  bytes:4  narrow:1  event:8  site:18        from the top bit
//
// narrow: atomic only among threads of one block. event: LaneClock::now() since the segment began.
// who: which lanes of the segment's warp accessed the bytes.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuemu::emulator {

/// The set of threads for which an access is atomic.
enum class Reach : uint8_t { Plain, Block, All };

/// Values of `who`. Below kSeveralLanes: the lane that accessed all of the bytes.
/// Several instructions accessed them; no single lane did.
inline constexpr uint32_t kSeveralLanes = 32;
inline constexpr uint32_t kUnknownLanes = 33;  ///< The lanes are not known.
inline constexpr uint32_t kPairs = 34;         ///< + n: two bytes each by lanes 2n and 2n + 1.
inline constexpr uint32_t kFours = 50;         ///< + n: one byte each by lanes 4n to 4n + 3.
inline constexpr uint32_t kNobody = 63;
inline constexpr uint32_t kLanesOfPairs = 2, kLanesOfFours = 4;

inline constexpr uint32_t kCellSiteBits = 18, kCellEventBits = 8;
inline constexpr uint32_t kCellBytesShift = 27, kCellWhoShift = 32, kCellSegmentShift = 38;
inline constexpr uint32_t kCellWhoBits = kCellSegmentShift - kCellWhoShift;
inline constexpr uint32_t kCellEventsMax = 1 << kCellEventBits;
/// Segments per launch; accesses in later ones are not checked for races.
inline constexpr uint32_t kRaceSegmentsMax = uint32_t{1} << 22;
inline constexpr uint64_t kCellAtomic = uint64_t{1} << 31, kCellNarrow = uint64_t{1} << 26;
/// The segment and the event of a cell.
inline constexpr uint64_t kCellTime =
    ~uint64_t{0} << kCellSegmentShift | uint64_t{kCellEventsMax - 1} << kCellSiteBits;

struct Touched {
  uint32_t segment = 0, who = kUnknownLanes, event = 0, bytes = 0xf, site = 0;
  Reach reach = Reach::Plain;
};

/// Returns the site number if it fits a cell, else 0.
constexpr uint32_t cell_site(uint32_t site) { return site >> kCellSiteBits == 0 ? site : 0; }
constexpr uint64_t cell_of(const Touched& by) {
  return uint64_t{by.segment} << kCellSegmentShift | uint64_t{by.who} << kCellWhoShift |
         (by.reach != Reach::Plain ? kCellAtomic : 0) |
         (by.reach == Reach::Block ? kCellNarrow : 0) | uint64_t{by.bytes} << kCellBytesShift |
         uint64_t{by.event} << kCellSiteBits | cell_site(by.site);
}
constexpr uint32_t segment_in(uint64_t cell) {
  return static_cast<uint32_t>(cell >> kCellSegmentShift);
}
constexpr uint32_t who_in(uint64_t cell) {
  return static_cast<uint32_t>(cell >> kCellWhoShift) & ((1u << kCellWhoBits) - 1);
}
constexpr uint32_t bytes_in(uint64_t cell) {
  return static_cast<uint32_t>(cell >> kCellBytesShift) & 0xf;
}
constexpr uint32_t event_in(uint64_t cell) {
  return static_cast<uint32_t>(cell >> kCellSiteBits) & (kCellEventsMax - 1);
}
constexpr uint32_t site_in(uint64_t cell) {
  return static_cast<uint32_t>(cell) & ((uint32_t{1} << kCellSiteBits) - 1);
}

/// Blocks on several host threads access cells at once.
inline uint64_t load_cell(const uint64_t& cell) {
  return std::atomic_ref(const_cast<uint64_t&>(cell)).load(std::memory_order_acquire);
}
inline void store_cell(uint64_t& cell, uint64_t value) {
  std::atomic_ref(cell).store(value, std::memory_order_release);
}

/// Returns the lane that accessed byte `byte` of the word; kSeveralLanes and kUnknownLanes
/// unchanged.
constexpr uint32_t lane_of_byte(uint32_t who, uint32_t byte) {
  if (who >= kFours) return (who - kFours) * kLanesOfFours + byte;
  if (who >= kPairs) return (who - kPairs) * kLanesOfPairs + byte / 2;
  return who;
}

/// Merges `before` and `now`, two reads of one word by one warp without an event in between. Lanes
/// of one instruction that read the same place may not all use it, so the result names no lanes.
constexpr uint64_t merged_reads(uint64_t before, uint64_t now) {
  if (((before ^ now) & kCellTime) != 0) return now;
  const uint32_t was = who_in(before), is = who_in(now), both = bytes_in(before) | bytes_in(now);
  const bool whole = was <= kSeveralLanes && is <= kSeveralLanes && bytes_in(before) == 0xf &&
                     bytes_in(now) == 0xf;
  const uint32_t who = was == is                                  ? was
                       : whole && site_in(before) != site_in(now) ? kSeveralLanes
                       : whole && was == kSeveralLanes            ? kSeveralLanes
                                                                  : kUnknownLanes;
  constexpr uint64_t kReplaced = uint64_t{(1u << kCellWhoBits) - 1} << kCellWhoShift;
  return (now & ~kReplaced) | uint64_t{who} << kCellWhoShift | uint64_t{both} << kCellBytesShift;
}

}  // namespace gpuemu::emulator
