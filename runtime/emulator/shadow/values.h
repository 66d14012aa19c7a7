// Shadows of registers and memory. Each belongs to certain bits: where the register or the memory
// holds others by now, whatever wrote them, the shadow is void and the computed value stands.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/machine/follower.h"
#include "runtime/emulator/machine/ins.h"
#include "runtime/emulator/shadow/exact.h"

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
  std::array<uint32_t, kLanes> node;  ///< Of the history; 0: none.
};

struct ShadowRegisters final : FollowedRegisters {
  std::vector<Plane> planes;
  const Code* code = nullptr;
  uint64_t block = 0;
  uint32_t warp = 0;
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

/// Cells by address, at every second byte.
class ShadowMemory {
 public:
  explicit ShadowMemory(uint64_t bytes_max = ~uint64_t{0}) : bytes_max_(bytes_max) {}
  /// nullptr where nothing was stored near.
  Cell* find(uint64_t address);
  /// nullptr when memory for shadows has run out.
  Cell* make(uint64_t address);
  void clear();
  void forget(uint64_t address, uint64_t bytes);
  bool full() const { return full_; }

 private:
  static constexpr uint64_t kPageBytes = 512;
  using Page = std::array<Cell, kPageBytes / 2>;

  Page* page_at(uint64_t number);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_ = ~uint64_t{0};
  Page* last_page_ = nullptr;
  uint64_t bytes_max_;
  bool full_ = false;
};

}  // namespace gpuemu::emulator
