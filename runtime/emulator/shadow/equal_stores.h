// Checks whether values that threads of one block store to one place with one instruction differ
// only by rounding, which is so if their shadows are equal.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// An element stored by one lane.
struct StoredValue {
  uint64_t bits = 0;
  std::array<Cell, 2> parts;  ///< Two if the element holds two floats.
};

class EqualStores {
 public:
  /// `lines`: PTX lines whose stores are compared.
  explicit EqualStores(std::set<uint32_t> lines) : lines_(std::move(lines)) {}

  bool compares(const ptx::Instruction& store) const { return lines_.contains(store.where.line); }
  /// `place`: an address, or an offset in the block's shared memory.
  void add(const Block& block, const ptx::Instruction& store, uint64_t place,
           const StoredValue& value);
  /// Returns whether stores of that line were compared and differed only by rounding.
  bool are_equal(uint32_t line) const {
    return seen_.contains(line) && !different_.contains(line) && places_.size() < kPlacesMax;
  }

 private:
  static constexpr size_t kPlacesMax = size_t{1} << 20;

  struct Place {
    uint64_t block = 0, at = 0;
    uint32_t line = 0;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& place) const {
      return (place.at ^ place.block << 40 ^ uint64_t{place.line} << 20) * 0x9e3779b97f4a7c15u;
    }
  };
  struct First {
    uint32_t epoch = 0;
    StoredValue value;
  };

  std::set<uint32_t> lines_, seen_, different_;
  /// The first store to each place since a barrier.
  std::unordered_map<Place, First, Hash> places_;
};

}  // namespace gpuemu::emulator
