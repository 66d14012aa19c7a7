// Shadows of registers and memory. Each shadow belongs to certain bits: if the register or memory
// now holds others, whatever wrote them, the shadow is void and the computed value is used.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/machine/step_observer.h"
#include "runtime/emulator/shadow/double_double.h"

namespace gpuemu::emulator {

/// What a plane holds in a lane: nothing, a float of this many bytes, or half of a double.
enum class Held : uint32_t {
  Nothing = 0,
  Two = 2,
  Four = 4,
  Eight = 8,
  LowHalf = 13,
  HighHalf = 12
};

/// The shadow of one register, or of one of two floats in it, for every lane.
struct Plane {
  alignas(64) std::array<double, kLanes> high, low, bound;
  std::array<uint32_t, kLanes> bits, bits_high;
  std::array<Held, kLanes> held;
  std::array<uint32_t, kLanes> node;  ///< Node of the history; 0: none.
};

struct ShadowRegisters final : ObservedRegisters {
  std::vector<Plane> planes;
  const Code* code = nullptr;
  uint64_t block = 0;
  uint32_t warp = 0;
  void take_lanes(const ObservedRegisters& from, uint32_t lanes) override;
};

/// Values of all lanes while an instruction is computed.
struct Lanes {
  alignas(64) std::array<double, kLanes> high, low, bound, computed;
  std::array<uint32_t, kLanes> node{};
};

/// The shadow of one float in memory.
struct Cell {
  double high = 0, low = 0, bound = 0;
  uint64_t bits = 0;
  uint32_t node = 0;
  Held held = Held::Nothing;
  uint64_t block = 0;
};

/// The cells of a range of memory: those at whole words as rows, which a warp's lanes copy
/// together, and those in between only if there are any.
struct ShadowPage {
  static constexpr uint64_t kBytes = 512;
  static constexpr uint32_t kWords = kBytes / 4;

  alignas(64) std::array<double, kWords> high{}, low{}, bound{};
  std::array<uint32_t, kWords> bits{}, bits_high{}, node{};
  std::array<Held, kWords> held{};
  std::array<uint64_t, kWords> block{};
  std::unique_ptr<std::array<Cell, kWords>> between;
  bool only_words = true;  ///< So far every cell was empty or held a 4-byte float.

  Cell get(uint64_t offset) const;
  void put(uint64_t offset, const Cell& cell);
  void drop(uint64_t offset);
};

inline Cell ShadowPage::get(uint64_t offset) const {
  const uint64_t word = offset / 4;
  if (offset % 4 != 0) return between == nullptr ? Cell{} : (*between)[word];
  return {high[word], low[word],  bound[word], bits[word] | uint64_t{bits_high[word]} << 32,
          node[word], held[word], block[word]};
}

/// Cells by address; an address must be even.
class ShadowMemory {
 public:
  explicit ShadowMemory(uint64_t bytes_max = ~uint64_t{0}) : bytes_max_(bytes_max) {}
  /// Returns an empty cell if nothing was stored.
  Cell get(uint64_t address);
  /// Returns false if the memory for shadows is exhausted, or at an odd address.
  bool put(uint64_t address, const Cell& cell);
  void drop(uint64_t address);
  /// Returns the page of an address; null if there is none, or no memory for one.
  ShadowPage* page_at(uint64_t address);
  ShadowPage* make_page(uint64_t address);
  void clear();
  /// Clears the values, but keeps the memory for reuse.
  void wipe();
  void forget(uint64_t address, uint64_t bytes);
  bool full() const { return full_; }
  bool empty() const { return pages_.empty(); }

 private:
  /// Cache of recent page look-ups, including pages that do not exist.
  struct Recent {
    uint64_t number = ~uint64_t{0};
    ShadowPage* page = nullptr;
  };
  static constexpr uint64_t kRecent = 64;

  /// A local variable lies a power of two apart in different lanes, so mix in higher bits.
  Recent& recent(uint64_t number) { return recent_[(number ^ number >> kLaneShift) % kRecent]; }
  static constexpr uint32_t kLaneShift = 23;

  std::unordered_map<uint64_t, std::unique_ptr<ShadowPage>> pages_;
  std::array<Recent, kRecent> recent_{};
  uint64_t bytes_max_;
  bool full_ = false;
};

}  // namespace gpuemu::emulator
