// Tracks which bits of a value are undefined, if that is known: when an undefined condition selects
// a value, the bits in which the two choices differ. `and` and `or` with other values keep, add or
// drop bits exactly, so that a mask of conditions is followed to where it matters, and the bits
// that it drops are not.
#pragma once

#include <array>
#include <cstdint>

namespace gpuemu::emulator {

constexpr uint32_t kUndefinedLanes = 32;

struct UndefinedValue {
  uint32_t lanes = 0, origin = 0;
  uint64_t bits = 0;      ///< No others mean nothing in any lane; 0: that is not known.
  uint32_t computed = 0;  ///< Lanes whose value is not just what undefined memory held.
};

/// An operand of `and`, `or` and `selp`.
struct LogicOperand {
  UndefinedValue undefined;
  std::array<uint64_t, kUndefinedLanes> values{};
  bool constant = false;  ///< A number in the code.
};

enum class Logic : uint8_t { And, Or };

/// A lane where an operand means nothing in bits that nobody knows: with a constant they stay, with
/// another register it counts only where both mean nothing, as they may be parts of one word.
/// `word` has the bits of the result's register.
UndefinedValue combine(Logic logic, const LogicOperand& a, const LogicOperand& b, uint64_t word);

struct Choice {
  uint32_t picked = 0;  ///< Lanes that take the first value.
  uint64_t word = 0;
};
/// What `selp` gives, in lanes where `condition` means nothing too.
UndefinedValue choose(const LogicOperand& yes, const LogicOperand& no, UndefinedValue condition,
                      Choice choice);

enum class MaskOperation : uint8_t { Ballot, Any, All, Reduce };
/// What a vote or a reduction over the warp gives each lane of `executing`; `members` are the lanes
/// that it names.
UndefinedValue gathered(MaskOperation kind, const LogicOperand& source, const LogicOperand& members,
                        uint32_t executing);

struct Shift {
  bool left = false;  ///< Else to the right, filled with zeros.
  uint64_t count = 0;
};
UndefinedValue shifted(UndefinedValue value, Shift shift, uint64_t word);

}  // namespace gpuemu::emulator
