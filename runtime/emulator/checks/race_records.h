// How an access changes the record of a word of shared memory.
#pragma once

#include <cstdint>

#include "runtime/emulator/memory/race_word.h"

namespace gpuemu::emulator {

/// A plain access to a word, or an atomic one.
struct WordAccess {
  uint32_t self = 0;   ///< The tag of the warp in this epoch.
  uint32_t event = 0;  ///< LaneClock::now().
  uint32_t site = 0;   ///< Step::cache, or 0.
  uint32_t lane = 0, bytes = kWholeWord;

  uint32_t epoch() const { return self >> kWarpBits << kWarpBits; }
  bool is_current(uint32_t tag) const { return tag >> kWarpBits == self >> kWarpBits; }
};

inline void record_read(RaceWord& seen, const WordAccess& by) {
  // If several warps have read the word, recording one of them is enough.
  const bool many = seen.read == (by.epoch() | kMany) || seen.read == (by.epoch() | kManyParts);
  if (many && (by.bytes & ~seen.read_bytes) == 0) return;
  const bool now = by.is_current(seen.read), others = now && seen.read != by.self;
  // If warps read different bytes, only the last one is recorded: each may write its own bytes
  // later.
  const bool several = others && (seen.read_bytes & by.bytes) != 0;
  LanesOfWord lanes;
  if (seen.read == by.self && seen.read_event == by.event) {
    lanes = {seen.read_lanes, seen.read_parts};
  }
  lanes.add(by.lane, by.bytes, false);
  seen.read_lanes = lanes.lanes;
  seen.read_parts = lanes.bytes & kWholeWord;
  seen.read_event = by.event;
  seen.read_bytes = (now && several == others ? seen.read_bytes | by.bytes : by.bytes) & kWholeWord;
  const uint32_t tag = seen.read_bytes == kWholeWord ? kMany : kManyParts;
  seen.read = several ? by.epoch() | tag : by.self;
  seen.read_site = by.site;
}

/// `flag` is kAtomicTag or 0; with `same_value` the value is the one that is already there.
inline void record_write(RaceWord& seen, const WordAccess& by, uint32_t flag, bool same_value) {
  const bool now = by.is_current(seen.write);
  LanesOfWord lanes;
  if ((seen.write & ~kAtomicTag) == by.self && seen.write_event == by.event) {
    lanes = {seen.write_lanes, seen.write_parts};
  }
  lanes.add(by.lane, by.bytes, seen.write_site != by.site && !same_value);
  seen.write_lanes = lanes.lanes;
  seen.write_parts = lanes.bytes & kWholeWord;
  if (!now) seen.writers = 0, seen.written_bytes = 0;
  const bool joins = flag != 0 && now && (seen.write & kAtomicTag) != 0;
  // If warps wrote different bytes, each of them may continue with its own.
  const bool covers = (seen.written_bytes & ~by.bytes) == 0;
  if (!same_value && !joins && covers) seen.writers = 0;
  seen.writers |= uint32_t{1} << ((by.self - by.epoch()) - 1);
  const bool several = (seen.writers & (seen.writers - 1)) != 0;
  seen.write = several ? by.epoch() | kMany | flag : by.self | flag;
  seen.written_bytes = (seen.written_bytes | by.bytes) & kWholeWord;
  seen.write_event = by.event;
  seen.write_site = by.site;
}

}  // namespace gpuemu::emulator
