// An allocation of global memory, and what the checks record for its bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/memory/byte_sources.h"
#include "runtime/emulator/memory/race_row.h"

namespace gpuemu::emulator {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

/// The first words of an allocation. Compiled code reads them.
struct AllocationBounds {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t* marks = nullptr;  ///< Allocation::defined; null if undefined reads are not checked.
  bool all_defined = false;  ///< Every byte was written before this launch.
  RaceRow* rows = nullptr;   ///< RaceRecords::rows.
  /// A launch that looks for races accessed it without `rows`. Threads of the host set it.
  mutable std::atomic<bool> unrecorded = false;
};

/// What the race detector keeps of the last accesses to an allocation. Null until it runs.
struct RaceRecords {
  std::unique_ptr<RaceRow[], Freed> rows;
  /// The last write and read of each 4-byte word; valid where rows are split.
  std::unique_ptr<uint64_t[], Freed> writes, reads;
  uint64_t words = 0;  ///< There is room for so many.
};

struct Allocation : AllocationBounds {
  uint64_t counted = 0;  ///< Bytes charged against the memory limit.
  std::string name;
  bool variable = false;  ///< A module's variable; tracked once part of it was marked undefined.
  bool constant = false;  ///< Lies in the .const space.
  bool foreign = false;   ///< Allocated outside the emulator.
  bool freed = false;     ///< Kept after it was freed, to report accesses to it.
  bool part = false;      ///< A part of another allocation, declared by a client.
  bool tracked = true;    ///< Undefined reads are checked. False for host memory, which counts as
                          ///< written.
  std::vector<uint8_t> defined;  ///< 1 for each byte that was written.
  uint64_t undefined_at = 0;     ///< Where Memory::settle() last saw a byte that was not.
  ByteSources sources;           ///< The stores that computed undefined bytes.
  std::unique_ptr<std::byte[], void (*)(void*)> storage{nullptr, std::free};
  RaceRecords races;

  bool contains(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
  uint8_t* shadow(uint64_t address) { return defined.data() + (address - base); }
  /// Returns the index of an address in the race records. Words begin at multiples of 4, rows at
  /// every 32nd word; memory of others may begin anywhere.
  uint64_t word_of(uint64_t address) const { return address / 4 - base / 4; }
  /// Returns the number of words that need race records.
  uint64_t word_count() const { return word_of(base + bytes) + 1; }
  void set_races(RaceRecords records) {
    races = std::move(records);
    rows = races.rows.get();
  }
  RaceRecords take_races() {
    rows = nullptr;
    return std::exchange(races, {});
  }
};

}  // namespace gpuemu::emulator
