// Shadow execution: observes every step of a launch, and computes exact values alongside.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/shadow/arithmetic.h"
#include "runtime/emulator/shadow/equal_stores.h"
#include "runtime/emulator/shadow/history.h"
#include "runtime/emulator/shadow/simd_double_double.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu::emulator {

/// An element of a matrix product.
struct MatrixResult {
  uint32_t plane = kNone, offset = 0, lane = 0, shift = 0;
  DoubleDouble value;
  double bound = 0;
  std::vector<Edge> edges;
};

/// An element moved between memory and a matrix in registers.
struct MovedElement {
  uint32_t reg = 0, lane = 0, shift = 0;  ///< Offset of its register; its first bit in it.
  uint64_t address = 0;
};

struct ShadowedBlock {
  uint64_t linear = ~uint64_t{0};
  ShadowMemory shared;
};

/// An operand as it was before the instruction, which may overwrite the register.
using OperandBits = std::array<uint32_t, kLanes>;

/// The state of one warp between two of its instructions.
struct ShadowedWarp {
  const Operation* pending = nullptr;
  const Plan* plan = nullptr;
  ShadowRegisters* registers = nullptr;
  const std::byte* frame = nullptr;  ///< Frame of the pending operation.
  uint32_t mask = 0;
  uint64_t block = ~uint64_t{0};
  std::array<std::array<Lanes, 3>, 2> operands;  ///< One per float of a register.
  std::array<Lanes, 2> results;
  std::array<uint64_t, kLanes> address{};
  bool has_address = false;
  std::vector<Plane> saved;  ///< Operands that the instruction may overwrite.
  std::vector<MatrixResult> matrix;
  std::vector<MovedElement> moved;
  std::unordered_map<const Plan*, std::vector<uint32_t>> visits;
  uint32_t* counts = nullptr;  ///< Counts the executions of each operation of `plan`.
  ShadowMemory local;
  ShadowedBlock* home = nullptr;  ///< The shadow of block `home_of`.
  const Block* home_of = nullptr;
  bool together = false;  ///< The pending arithmetic was done for all lanes at once.
  std::array<OperandBits, 3> operand_bits;
};

class Shadow final : public StepObserver {
 public:
  /// `global` outlives the launch, so that later launches find the shadows of what this one stored.
  Shadow(Launch& launch, const ShadowConfig& config, ShadowMemory& global);
  ~Shadow() override;
  void before(Warp& warp, const Step& step) override;
  /// Passes the values of certain stores to `stores`, which outlives the launch.
  void compare(EqualStores* stores) { equal_stores_ = stores; }
  /// Call it when the launch has ended.
  ShadowReport report();

 private:
  struct ShadowPlace {
    ShadowMemory* memory;
    uint64_t key;
  };

  const Plan& plan_of(const Code& code);
  ShadowedWarp& state_of(Warp& warp);
  ShadowRegisters& registers_of(Warp& warp, const Plan& plan);
  void begin(Warp& warp, ShadowedWarp& at);
  void finish(Warp& warp, ShadowedWarp& at);

  // arithmetic_steps.cc
  void begin_arithmetic(Warp& warp, ShadowedWarp& at);
  void finish_arithmetic(Warp& warp, ShadowedWarp& at);
  void trace_part(Warp& warp, ShadowedWarp& at, uint32_t part, uint32_t discrete);
  void begin_from_integer(Warp& warp, ShadowedWarp& at);
  void decide(Warp& warp, ShadowedWarp& at);
  void nudge(ShadowedWarp& at);
  void nudge_product(ShadowedWarp& at);
  void fetch(const Warp& warp, const ShadowedWarp& at, const Source& from, uint32_t part,
             Format format, Lanes& to) const;
  void keep(Warp& warp, ShadowedWarp& at, uint32_t part);
  void look(Warp& warp, ShadowedWarp& at, uint32_t part, uint32_t lanes);

  // simd_arithmetic_steps.cc
  bool begin_row(Warp& warp, ShadowedWarp& at);
  void finish_row(Warp& warp, ShadowedWarp& at);
  PairView view(const Warp& warp, ShadowedWarp& at, size_t operand);
  bool keeps_order(Warp& warp, ShadowedWarp& at);

  // move_steps.cc
  bool copy_row(Warp& warp, ShadowedWarp& at);
  void copy(Warp& warp, ShadowedWarp& at);
  void shuffle(Warp& warp, ShadowedWarp& at);
  void pack(Warp& warp, ShadowedWarp& at);
  void unpack(Warp& warp, ShadowedWarp& at);
  void begin_bits(Warp& warp, ShadowedWarp& at);
  void finish_bits(Warp& warp, ShadowedWarp& at);

  // memory_steps.cc
  void take_addresses(Warp& warp, const Step& step, ShadowedWarp& at);
  ShadowPlace place_of(Warp& warp, ShadowedWarp& at, uint32_t lane, uint32_t offset);
  ShadowMemory& shared_of(Warp& warp, ShadowedWarp& at);
  ShadowPlace place_at(Warp& warp, ShadowedWarp& at, uint32_t lane, uint64_t address,
                       ptx::Space space);
  uint64_t read_bits(Warp& warp, ShadowedWarp& at, uint32_t lane, uint32_t bytes);
  bool moves_words(const Warp& warp, const ShadowedWarp& at, const Source& reg) const;
  void store(Warp& warp, ShadowedWarp& at);
  void compare_stores(Warp& warp, ShadowedWarp& at);
  bool store_row(Warp& warp, ShadowedWarp& at, const Source& from, uint32_t offset);
  void store_float(Warp& warp, ShadowedWarp& at, uint32_t lane, const Source& from,
                   uint32_t offset);
  bool load_row(Warp& warp, ShadowedWarp& at, const Source& to, uint32_t offset);
  std::optional<uint32_t> gather_row(ShadowMemory& memory, uint64_t begin);
  std::optional<uint32_t> gather_same(ShadowMemory& memory, uint64_t address);
  std::optional<uint32_t> gather_apart(ShadowMemory& memory, const ShadowedWarp& at,
                                       uint64_t apart);
  void load(Warp& warp, ShadowedWarp& at);
  void begin_atomic(Warp& warp, ShadowedWarp& at);
  void finish_atomic(Warp& warp, ShadowedWarp& at);
  void load_float(Warp& warp, ShadowedWarp& at, uint32_t lane, const Source& to, uint32_t offset);

  // matrix_steps.cc
  void begin_matrix(Warp& warp, ShadowedWarp& at);
  void finish_matrix(Warp& warp, ShadowedWarp& at);

  // fragment_steps.cc
  void find_moved(Warp& warp, const Step& step, ShadowedWarp& at);
  ShadowPlace place_of_moved(Warp& warp, ShadowedWarp& at, const MovedElement& one);
  void store_fragment(Warp& warp, ShadowedWarp& at);
  void load_fragment(Warp& warp, ShadowedWarp& at);

  bool traces(const Warp& warp) const;
  uint32_t visit_of(const ShadowedWarp& at) const;
  uint32_t add_node(const Warp& warp, const ShadowedWarp& at, uint32_t lane, const Node& values,
                    const Edge* edges, size_t count);
  ShadowStep step_at(const Warp& warp, const ShadowedWarp& at, uint32_t lane) const;

  Launch& launch_;
  const ShadowConfig& config_;
  ShadowMemory& global_;
  EqualStores* equal_stores_ = nullptr;
  const PairFunctions& pairs_ = pair_functions();
  Plane row_{};  ///< A row of memory, moved to or from registers.
  const Warp* last_warp_ = nullptr;
  ShadowedWarp* last_state_ = nullptr;  ///< State of last_warp_.
  std::map<const Code*, Plan> plans_;
  std::unordered_map<const Warp*, std::unique_ptr<ShadowedWarp>> warps_;
  std::unordered_map<const Block*, std::unique_ptr<ShadowedBlock>> blocks_;
  /// Exact sums of the pending atomic.
  std::unordered_map<uint64_t, std::pair<DoubleDouble, double>> sums_;
  std::unordered_set<const Operation*> shares_;  ///< Subtractions of a value that the lanes share.
  History history_;
  ShadowReport report_;
};

/// Returns the part of a register that a plane holds.
inline uint32_t part_of(uint64_t bits, Held held, uint32_t part) {
  if (held == Held::Two) return static_cast<uint32_t>(bits >> (16 * part) & 0xffff);
  return static_cast<uint32_t>(bits >> (32 * part));
}
/// Returns whether the plane's shadow belongs to the register's current bits.
inline bool is_live(const Plane& plane, uint32_t lane, uint32_t part, uint64_t bits) {
  const Held held = plane.held[lane];
  if (held == Held::Nothing) return false;
  if (held == Held::Eight) {
    return bits == (plane.bits[lane] | uint64_t{plane.bits_high[lane]} << 32);
  }
  return plane.bits[lane] == part_of(bits, held, part);
}
/// Returns the bits of a register in a lane, or of a constant.
inline uint64_t bits_of(const Warp& warp, const Source& source, uint32_t lane) {
  if (source.reg == kNone) return source.bits;
  const std::byte* at = warp.registers.data + source.offset;
  if (source.bytes == 0) return *reinterpret_cast<const uint32_t*>(at) >> lane & 1;
  return source.bytes == 8 ? reinterpret_cast<const uint64_t*>(at)[lane]
                           : reinterpret_cast<const uint32_t*>(at)[lane];
}
/// Returns the shadow that a plane holds in a lane, for an element with these bits.
inline Cell cell_of(const Plane& from, uint32_t lane, uint64_t bits, uint64_t block) {
  return {from.high[lane], from.low[lane], from.bound[lane], bits, from.node[lane],
          from.held[lane], block};
}
/// Sets a lane of a plane from the shadow of memory.
inline void take(Plane& to, uint32_t lane, const Cell& cell) {
  to.high[lane] = cell.high;
  to.low[lane] = cell.low;
  to.bound[lane] = cell.bound;
  to.node[lane] = cell.node;
  to.bits[lane] = static_cast<uint32_t>(cell.bits);
  to.bits_high[lane] = static_cast<uint32_t>(cell.bits >> 32);
  to.held[lane] = cell.held;
}
inline Held held_of(uint32_t bytes) {
  return bytes == 8 ? Held::Eight : bytes == 4 ? Held::Four : Held::Two;
}
/// Copies everything in a lane of one plane to a lane of another.
void assign(Plane& to, uint32_t lane, const Plane& from, uint32_t from_lane);

}  // namespace gpuemu::emulator
