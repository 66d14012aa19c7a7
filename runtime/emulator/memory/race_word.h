// The record that the shared race detector keeps for each 4-byte word.
#pragma once

#include <bit>
#include <cstdint>

namespace gpuemu::emulator {

/// Lanes of one warp, and the bytes of a word that they accessed. Usually all accessed the same
/// bytes.
struct LanesOfWord {
  /// The lanes, if `bytes` is the bytes that each of them accessed. If they differ, `bytes` is 0
  /// and this holds a number per byte: 0 for no lane, the lane + 1, or kSeveral.
  uint32_t lanes = 0;
  uint32_t bytes = 0;

  static constexpr uint32_t kBytes = 4, kByteBits = 8, kSeveral = 0xff, kAnyOther = ~uint32_t{0};

  void set(uint32_t mask, uint32_t touched) { lanes = mask, bytes = touched; }
  /// Adds a lane. With `replaces` it becomes the only lane on these bytes.
  void add(uint32_t lane, uint32_t touched, bool replaces) {
    const uint32_t bit = uint32_t{1} << lane;
    if (bytes == touched || lanes == 0) {
      lanes = replaces ? bit : lanes | bit;
      bytes = touched;
      return;
    }
    if (bytes != 0) split();
    for (uint32_t i = 0; i < kBytes; ++i) {
      const uint32_t now = of_byte(i);
      if ((touched >> i & 1) == 0 || now == lane + 1) continue;
      put(i, now == 0 || replaces ? lane + 1 : kSeveral);
    }
  }
  /// Returns the lanes other than `lane` that accessed these bytes. If several lanes accessed one
  /// byte they are unknown; with `unknown_too` all lanes are returned then.
  uint32_t others(uint32_t lane, uint32_t touched, bool unknown_too) const {
    const uint32_t own = uint32_t{1} << lane;
    if (bytes != 0) return (bytes & touched) != 0 ? lanes & ~own : 0;
    uint32_t out = 0;
    for (uint32_t i = 0; i < kBytes; ++i) {
      const uint32_t who = (touched >> i & 1) != 0 ? of_byte(i) : 0;
      if (who == kSeveral && unknown_too) out = kAnyOther;
      if (who != 0 && who != kSeveral) out |= uint32_t{1} << (who - 1);
    }
    return out & ~own;
  }
  /// Returns whether `lane` accessed all of these bytes that any lane accessed.
  bool includes(uint32_t lane, uint32_t touched) const {
    if (bytes != 0) return (lanes >> lane & 1) != 0 || (bytes & touched) == 0;
    return others(lane, touched, false) == 0;
  }

 private:
  uint32_t of_byte(uint32_t i) const { return lanes >> kByteBits * i & kSeveral; }
  void put(uint32_t i, uint32_t value) {
    lanes = (lanes & ~(kSeveral << kByteBits * i)) | value << kByteBits * i;
  }
  void split() {
    const bool one = (lanes & (lanes - 1)) == 0;
    const uint32_t who = one ? static_cast<uint32_t>(std::countr_zero(lanes)) + 1 : kSeveral;
    const uint32_t touched = bytes;
    set(0, 0);
    for (uint32_t i = 0; i < kBytes; ++i) {
      if ((touched >> i & 1) != 0) put(i, who);
    }
  }
};

inline constexpr uint32_t kSiteBits = 24;
inline constexpr uint32_t kSiteMask = (uint32_t{1} << kSiteBits) - 1;
/// Returns the site number if it fits a note, else 0.
constexpr uint32_t site_number(uint32_t site) { return site <= kSiteMask ? site : 0; }
/// Layout of a tag: warp index + 1, kMany or kManyParts; above it the flag.
inline constexpr uint32_t kWarpBits = 7;
/// Several warps. Of reads: all bytes were read, so that another read adds nothing.
inline constexpr uint32_t kMany = 63;
/// Several warps read a word of which some bytes were not read.
inline constexpr uint32_t kManyParts = 62;
inline constexpr uint32_t kAtomicTag = 64;
inline constexpr uint32_t kEpochsMax = (uint32_t{1} << (32 - kWarpBits)) - 1;
inline constexpr uint32_t kWholeWord = 0xf;

/// The history of a word in shared memory. A tag holds the barrier epoch above the warp: accesses
/// with equal tags are ordered, unless lanes of one warp race. The lanes are those of the last warp
/// that wrote (read), at one event of its clock.
struct RaceWord {
  uint32_t write = 0, read = 0;
  uint32_t writers = 0;  ///< Number of warps that wrote the same value.
  uint32_t write_lanes = 0, read_lanes = 0;
  uint32_t write_event = 0, read_event = 0;  ///< LaneClock::now() at the access.
  uint32_t write_site = 0;                   ///< Step::cache of the instruction.
  uint32_t written_bytes = 0;                ///< One bit per byte of the word.
  uint32_t write_parts = 0;                  ///< LanesOfWord::bytes.
  uint32_t read_site = 0, read_bytes = 0, read_parts = 0;
};

}  // namespace gpuemu::emulator
