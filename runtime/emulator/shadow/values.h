// Shadows of registers and memory. Each belongs to certain bits: where the register or the memory
// holds others by now, whatever wrote them, the shadow is void and the computed value stands.
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

/// What a plane holds in a lane: nothing, a float of so many bytes, or a half of a double.
enum class Held : uint32_t {
  Nothing = 0,
  Two = 2,
  Four = 4,
  Eight = 8,
  LowHalf = 13,
  HighHalf = 12
};

/// The shadow of one register, or of one of the two floats in it, in every lane.
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

/// Values of all lanes on their way through an instruction.
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

/// The cells of so many bytes of memory: those at whole words in rows, which the lanes of a warp
/// copy together, and those between them where there are any.
struct ShadowPage {
  static constexpr uint64_t kBytes = 512;
  static constexpr uint32_t kWords = kBytes / 4;

  alignas(64) std::array<double, kWords> high{}, low{}, bound{};
  std::array<uint32_t, kWords> bits{}, bits_high{}, node{};
  std::array<Held, kWords> held{};
  std::array<uint64_t, kWords> block{};
  std::unique_ptr<std::array<Cell, kWords>> between;
  bool only_words = true;  ///< No cell held anything but a float of four bytes since its beginning.

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

/// Cells by address, at every second byte.
class ShadowMemory {
 public:
  explicit ShadowMemory(uint64_t bytes_max = ~uint64_t{0}) : bytes_max_(bytes_max) {}
  /// Holds nothing where nothing was stored.
  Cell get(uint64_t address);
  /// False when memory for shadows has run out, or at an odd address.
  bool put(uint64_t address, const Cell& cell);
  void drop(uint64_t address);
  /// The page of an address; nullptr: it has none, or there is no memory for it.
  ShadowPage* page_at(uint64_t address);
  ShadowPage* make_page(uint64_t address);
  void clear();
  /// Clears the values, but keeps the memory for what comes.
  void wipe();
  void forget(uint64_t address, uint64_t bytes);
  bool full() const { return full_; }
  bool empty() const { return pages_.empty(); }

 private:
  /// Pages looked for of late, by their number; those too that do not exist.
  struct Recent {
    uint64_t number = ~uint64_t{0};
    ShadowPage* page = nullptr;
  };
  static constexpr uint64_t kRecent = 64;

  /// Pages of one place in the memories of all lanes are apart by a power of two.
  Recent& recent(uint64_t number) { return recent_[(number ^ number >> kLaneShift) % kRecent]; }
  static constexpr uint32_t kLaneShift = 23;

  std::unordered_map<uint64_t, std::unique_ptr<ShadowPage>> pages_;
  std::array<Recent, kRecent> recent_{};
  uint64_t bytes_max_;
  bool full_ = false;
};

}  // namespace gpuemu::emulator
