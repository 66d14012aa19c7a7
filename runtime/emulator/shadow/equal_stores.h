// Whether values that threads of one block store to one place with one instruction differ by
// rounding only: whether their shadows are equal.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

/// An element as one lane stores it.
struct StoredValue {
  uint64_t bits = 0;
  std::array<Cell, 2> parts;  ///< Two where it holds two floats.
};

class EqualStores {
 public:
  /// `lines`: those of the PTX whose stores are compared.
  explicit EqualStores(std::set<uint32_t> lines) : lines_(std::move(lines)) {}

  bool compares(const ptx::Instruction& store) const { return lines_.contains(store.where.line); }
  /// `place`: an address, or an offset into the block's shared memory.
  void add(const Block& block, const ptx::Instruction& store, uint64_t place,
           const StoredValue& value);
  /// Whether it compared what that line stored, and found nothing else than rounding.
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
  std::unordered_map<Place, First, Hash> places_;  ///< What was stored first since a barrier.
};

}  // namespace gpuemu::emulator
