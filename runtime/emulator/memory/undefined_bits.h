// Tracks which bits of a value are undefined, if that is known: when an undefined condition selects
// a value, these are the bits in which the two choices differ. `and` and `or` with other values
// keep, add or drop bits exactly, so that masks of conditions are tracked to where they matter and
// dropped bits are not reported.
#pragma once

#include <array>
#include <cstdint>

namespace gpuemu::emulator {

constexpr uint32_t kUndefinedLanes = 32;

struct UndefinedValue {
  uint32_t lanes = 0, origin = 0;
  uint64_t bits = 0;      ///< All other bits are defined in every lane; 0: unknown.
  uint32_t computed = 0;  ///< Lanes whose value was computed, not just loaded from undefined
                          ///< memory.
};

/// An operand of `and`, `or` and `selp`.
struct LogicOperand {
  UndefinedValue undefined;
  std::array<uint64_t, kUndefinedLanes> values{};
  bool constant = false;  ///< A constant in the code.
};

enum class Logic : uint8_t { And, Or };

/// Computes `and` or `or`. In a lane where an operand is undefined in unknown bits: with a constant
/// the result stays undefined; with another register only if both are undefined, as they may be
/// parts of one word. `word` is the mask of the result register's bits.
UndefinedValue combine(Logic logic, const LogicOperand& a, const LogicOperand& b, uint64_t word);

struct Choice {
  uint32_t picked = 0;  ///< Lanes that take the first value.
  uint64_t word = 0;
};
/// Computes `selp`, also in lanes in which `condition` is undefined.
UndefinedValue choose(const LogicOperand& yes, const LogicOperand& no, UndefinedValue condition,
                      Choice choice);

enum class MaskOperation : uint8_t { Ballot, Any, All, Reduce };
/// Computes what a vote or a reduction over the warp gives each lane of `executing`. `members` is
/// the lane mask operand.
UndefinedValue gathered(MaskOperation kind, const LogicOperand& source, const LogicOperand& members,
                        uint32_t executing);

struct Shift {
  bool left = false;  ///< Left shift; otherwise right, filled with zeros.
  uint64_t count = 0;
};
UndefinedValue shifted(UndefinedValue value, Shift shift, uint64_t word);

}  // namespace gpuemu::emulator
