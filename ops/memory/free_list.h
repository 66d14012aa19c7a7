// The blocks of a pool: pieces of segments, split and joined, and the free ones by size class.
//
// Sizes are multiples of 256 bytes, the alignment that devices promise. Beyond the first few a
// doubling has kStepsUsual classes of equal width, so that rounding up wastes a ninth of a block at
// most. Eight, because at the peak of a recorded trace of fuzzing powers of two hold 1.9 times what
// lives, two and four steps 1.4 and 1.2 times, eight and sixteen 1.10 times: bench/README.md.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu::memory {

inline constexpr uint64_t kGranule = 256;
inline constexpr uint32_t kStepsUsual = 8, kStepsMax = 16;

/// Number of a size class: the doubling, and the step in it.
struct SizeClass {
  uint32_t level = 0, step = 0;
};

struct Block;

struct Segment {
  uint64_t address = 0, bytes = 0;
  uint64_t used = 0;  ///< Bytes in blocks that are not free.
  uint64_t unit = 0;  ///< Bytes of the block that it was taken for.
  Block* first = nullptr;
};

struct Block {
  uint64_t address = 0, bytes = 0;
  SizeClass place;  ///< The class of `bytes`.
  uint64_t requested = 0;
  Segment* segment = nullptr;
  Block *before = nullptr, *after = nullptr;             ///< In the segment.
  Block *previous_free = nullptr, *next_free = nullptr;  ///< In the bin.
  bool is_free = false;
  bool is_listed = false;            ///< Among those whose neighbours were not looked at.
  StreamId stream = kDefaultStream;  ///< Its later work may use the block, or uses it.
  EventId ready = 0;                 ///< Free memory that others may use after this event; 0: none.
  std::string name;
  std::vector<StreamId> also_used;
};

/// Rounds sizes up to classes and numbers them.
class SizeClasses {
 public:
  /// REQUIRES: a power of two up to kStepsMax.
  explicit SizeClasses(uint32_t steps)
      : steps_log2_(static_cast<uint32_t>(std::countr_zero(steps))) {}

  /// At least `bytes`, a class's size.
  uint64_t round_up(uint64_t bytes) const;
  /// The largest class that is not larger. REQUIRES: a positive multiple of kGranule.
  SizeClass of(uint64_t bytes) const;

 private:
  uint32_t steps_log2_;
};

/// Free blocks of one stream, by class.
class Bins {
 public:
  void insert(Block& block);
  void remove(Block& block);
  /// A block of exactly so many bytes, if it is the first of its class.
  Block* find_exactly(uint64_t bytes, SizeClass place) const {
    Block* head = heads_[place.level][place.step];
    return head != nullptr && head->bytes == bytes ? head : nullptr;
  }
  /// A block of that class or the next larger one there is; nullptr when there is none.
  Block* find(SizeClass place) const;
  uint64_t bytes() const { return bytes_; }
  /// All blocks, in no order.
  std::vector<Block*> all() const;

 private:
  static constexpr size_t kLevels = 64;
  uint64_t levels_ = 0;  ///< Bits of the levels that have blocks.
  std::array<uint32_t, kLevels> steps_ = {};
  std::array<std::array<Block*, kStepsMax>, kLevels> heads_ = {};
  uint64_t bytes_ = 0;
};

/// Blocks by their address: open addressing, because a node for each would cost more than all else.
class AddressMap {
 public:
  /// REQUIRES: not there.
  void insert(uint64_t address, Block* block);
  Block* find(uint64_t address) const {
    return slots_.empty() ? nullptr : slots_[place_of(address)].block;
  }
  /// REQUIRES: there.
  void erase(uint64_t address);
  template <typename F>
  void for_each(F f) const {
    for (const Slot& slot : slots_) {
      if (slot.block != nullptr) f(slot.address, *slot.block);
    }
  }

 private:
  struct Slot {
    uint64_t address = 0;
    Block* block = nullptr;
  };
  size_t home_of(uint64_t address) const {
    // Addresses are multiples of the granule; the multiplication spreads what is left.
    return static_cast<size_t>((address / kGranule * 0x9e3779b97f4a7c15U) >> shift_);
  }
  size_t place_of(uint64_t address) const {
    size_t at = home_of(address);
    while (slots_[at].block != nullptr && slots_[at].address != address) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  void grow();

  std::vector<Slot> slots_;  ///< A power of two, at most half of them used.
  size_t count_ = 0;
  uint32_t shift_ = 64;
};

/// Blocks that are not in use stay here to be used again: a vector of addresses never moves them.
class BlockStore {
 public:
  /// As a new one, but for `name`.
  Block& make();
  void recycle(Block& block);

 private:
  std::deque<Block> all_;
  std::vector<Block*> spare_;
};

}  // namespace gpuemu::memory
