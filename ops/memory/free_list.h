// The blocks of a pool: parts of segments, split and merged, with free lists by size class.
//
// Sizes are multiples of 256 bytes, the alignment that devices guarantee. After the first few, each
// doubling has kStepsUsual classes of equal width, so that rounding up wastes at most a ninth of a
// block. Why eight: at the peak of a recorded fuzzing trace, powers of two hold 1.9 times the live
// bytes, two and four steps 1.4 and 1.2 times, eight and sixteen 1.10 times (bench/README.md).
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

/// A size class: the doubling, and the step in it.
struct SizeClass {
  uint32_t level = 0, step = 0;
};

struct Block;

struct Segment {
  uint64_t address = 0, bytes = 0;
  uint64_t used = 0;  ///< Bytes in blocks that are in use.
  uint64_t unit = 0;  ///< Size of the block for which it was allocated.
  Block* first = nullptr;
};

struct Block {
  uint64_t address = 0, bytes = 0;
  SizeClass place;  ///< The class of `bytes`.
  uint64_t requested = 0;
  Segment* segment = nullptr;
  Block *before = nullptr, *after = nullptr;             ///< Neighbours in the segment.
  Block *previous_free = nullptr, *next_free = nullptr;  ///< Neighbours in the bin.
  bool is_free = false;
  bool is_listed = false;  ///< In the list of blocks whose neighbours were not yet checked.
  StreamId stream = kDefaultStream;  ///< Later work of this stream uses, or may use, the block.
  EventId ready = 0;  ///< Other streams may use the free block after this event; 0: none.
  std::string name;
  std::vector<StreamId> also_used;
};

/// Rounds sizes up to classes, and numbers the classes.
class SizeClasses {
 public:
  /// Requires a power of two up to kStepsMax.
  explicit SizeClasses(uint32_t steps)
      : steps_log2_(static_cast<uint32_t>(std::countr_zero(steps))) {}

  /// Returns the size of the smallest class for `bytes`.
  uint64_t round_up(uint64_t bytes) const;
  /// Returns the largest class that is not larger. Requires a positive multiple of kGranule.
  SizeClass of(uint64_t bytes) const;

 private:
  uint32_t steps_log2_;
};

/// The free blocks of one stream, by class.
class Bins {
 public:
  void insert(Block& block);
  void remove(Block& block);
  /// Returns a block of exactly this size, if it is the first of its class.
  Block* find_exactly(uint64_t bytes, SizeClass place) const {
    Block* head = heads_[place.level][place.step];
    return head != nullptr && head->bytes == bytes ? head : nullptr;
  }
  /// Returns a block of that class or the next larger one; null if there is none.
  Block* find(SizeClass place) const;
  uint64_t bytes() const { return bytes_; }
  /// Returns all blocks, in no particular order.
  std::vector<Block*> all() const;

 private:
  static constexpr size_t kLevels = 64;
  uint64_t levels_ = 0;  ///< Bit mask of the levels that have blocks.
  std::array<uint32_t, kLevels> steps_ = {};
  std::array<std::array<Block*, kStepsMax>, kLevels> heads_ = {};
  uint64_t bytes_ = 0;
};

/// Blocks by address. Uses open addressing, because a node per block would cost more than the rest.
class AddressMap {
 public:
  /// Requires that the address is absent.
  void insert(uint64_t address, Block* block);
  Block* find(uint64_t address) const {
    return slots_.empty() ? nullptr : slots_[place_of(address)].block;
  }
  /// Requires that the address is present.
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
    // Addresses are multiples of the granule; the multiplication spreads the remaining bits.
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

  std::vector<Slot> slots_;  ///< A power of two, at most half used.
  size_t count_ = 0;
  uint32_t shift_ = 64;
};

/// Stores blocks. Unused blocks are kept for reuse, and never move.
class BlockStore {
 public:
  /// Returns a block like a new one, except for `name`.
  Block& make();
  void recycle(Block& block);

 private:
  std::deque<Block> all_;
  std::vector<Block*> spare_;
};

}  // namespace gpuemu::memory
