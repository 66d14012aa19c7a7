// The PTX instructions and their properties, from instructions.def, which is the only list of them.
// A property used by several analyses is a trait here; one used by a single analysis is in a
// PerOpcode table of that analysis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuemu::ptx {

/// One enumerator per row of instructions.def, in its order. Unknown: an instruction without a row;
/// it parses, but only its text identifies it.
enum class Opcode : uint8_t {
#define INSTRUCTION(opcode, text, least, most, what, operands, traits) opcode,
#include "runtime/ptx/isa/instructions.def"
#undef INSTRUCTION
  Unknown
};
inline constexpr size_t kOpcodeCount = static_cast<size_t>(Opcode::Unknown);

enum class OpcodeClass : uint8_t {
  Arithmetic,
  Compare,
  Logic,
  Convert,
  Memory,
  Atomic,
  Control,
  Warp,
  Barrier,
  Matrix,
  Async,
  Texture,
  Misc,
  Video,
  Unknown  ///< Only for Opcode::Unknown.
};

/// How the types among the modifiers apply to the operands.
enum class OperandShape : uint8_t {
  Unchecked,  ///< Any register is allowed.
  Same,       ///< All operands have the one type.
  Shift,      ///< The amount is .u32.
  Field,      ///< bfe: position and length are .u32.
  Insert,     ///< bfi: the last two are .u32.
  Count,      ///< bfind, clz, popc: the result is .u32.
  Words,      ///< All have 32 bits, whatever the types are.
  Select,     ///< selp: the last is a predicate.
  Slct,       ///< The last operand has the second type.
  Test,       ///< testp: the result is a predicate.
  Compare,    ///< setp: predicates, and operands of the one type.
  Set,        ///< The result has the first type, the operands the second.
  Convert,    ///< cvt
  Move,       ///< mov: all operands, except the parts of a packed vector.
  Shuffle,    ///< shfl: words and a predicate.
  Vote,       ///< A predicate, the lane mask, and either one as result.
  Match,      ///< A value of the type, words and a predicate.
  Access,     ///< ld, st: all except the address; registers may be wider than the type.
  Atomic,     ///< atom, red: all except the address.
};

/// Properties of an instruction that analyses query.
enum class Trait : uint8_t {
  // Memory
  Reads,          ///< One access at an address, loaded into a register.
  Writes,         ///< One access at an address, stored from a register.
  TouchesMemory,  ///< Accesses, copies and memory hints.
  // Effects
  NoResult,      ///< The first operand is not a result, unless a modifier is .red.
  Refused,       ///< The emulator supports no form of it.
  NoEffect,      ///< A hint that the emulator ignores.
  Branches,      ///< Jumps to a label.
  Leaves,        ///< Ends the function or the thread.
  UseIsVisible,  ///< Executing it has an effect outside registers.
  OnlyAssigns,   ///< Compilers branch around it, and it only writes a register.
  // Threads
  Synchronizes,   ///< A barrier of threads.
  Fences,         ///< Orders memory accesses.
  Waits,          ///< Waits for or signals other threads, without being a barrier.
  TakesMembers,   ///< Its last operand is a lane mask if it is .sync.
  UniformResult,  ///< The result is the same in all participating lanes.
  VaryingResult,  ///< The result differs between lanes, whatever the operands.
  CombinesLanes,  ///< The result is computed from the values of all lanes.
  // Operands and values
  Compares,        ///< Compares two operands by a condition among its modifiers.
  Selects,         ///< Selects one of two operands.
  MatrixProduct,   ///< Multiplies matrices, if only with the modifier .mma.
  RegisterMatrix,  ///< Holds the matrices of a product in registers, with a type for each.
  FreshResult,     ///< The result does not depend on register operands.
  EndsTracking,    ///< Undefined values are not tracked through it.
  MixesBits,       ///< One operand can determine the result alone, or parts of words are combined.
  KeepsBits,       ///< The result consists of the bits of its only operand.
  CarriesValue,    ///< The result is one of the operands, unchanged.
  MovesBits,       ///< On integers: may change the sign or exponent of a float, or move the float.
  PassesOn,        ///< A narrow float among the operands is passed to the result.
  PassesIndex,     ///< An index among the operands is passed to the result.
  IndexMath,       ///< Compilers use it to compute indices and sizes.
  RevealsSizes,    ///< A constant operand may be a size at which a kernel changes its code path.
  ComparesSizes,   ///< Compares an operand with such a size.
  // Floating point
  MakesNonFinite,   ///< May produce a NaN or an infinity from finite operands.
  FloatArithmetic,  ///< Addition, subtraction, multiplication or division of floats, or fma.
  RoundsToType,     ///< Rounds its result to the last type among its modifiers.
  SpecialFunction,  ///< Computed by the special function unit.
};

/// A set of traits.
class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(Trait one) : bits_(uint64_t{1} << static_cast<uint8_t>(one)) {}
  constexpr bool has(Trait one) const { return (bits_ & Traits(one).bits_) != 0; }
  constexpr Traits operator|(Traits other) const {
    Traits both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }

 private:
  uint64_t bits_ = 0;
};
constexpr Traits operator|(Trait a, Trait b) { return Traits(a) | Traits(b); }

struct InstructionInfo {
  std::string_view text;  ///< "ld"; empty for Opcode::Unknown.
  uint8_t operands_min = 0, operands_max = UINT8_MAX;
  OpcodeClass what = OpcodeClass::Unknown;
  OperandShape operands = OperandShape::Unchecked;
  Traits traits;
};

/// Indexed by Opcode; the last row is that of Opcode::Unknown.
extern const std::array<InstructionInfo, kOpcodeCount + 1> kInstructions;

inline const InstructionInfo& info(Opcode opcode) {
  return kInstructions[static_cast<size_t>(opcode)];
}

/// Returns the instruction with this text before its modifiers; Unknown if it has no row.
Opcode opcode_of(std::string_view text);
/// Returns whether PTX has the instruction, with or without a row, up to the newest version that
/// the parser knows (limits.h).
bool is_instruction(std::string_view text);

/// A table with a row for some opcodes, constructed from pairs. Duplicate opcodes do not compile.
template <typename Row>
class PerOpcode {
 public:
  consteval PerOpcode(std::initializer_list<std::pair<Opcode, Row>> rows) {
    for (const auto& [opcode, row] : rows) {
      const auto at = static_cast<size_t>(opcode);
      if (given_[at]) throw "two rows for one opcode";
      given_[at] = true;
      rows_[at] = row;
    }
  }
  /// Returns null for an opcode without a row.
  constexpr const Row* find(Opcode opcode) const {
    const auto at = static_cast<size_t>(opcode);
    return given_[at] ? &rows_[at] : nullptr;
  }

 private:
  std::array<bool, kOpcodeCount + 1> given_{};
  std::array<Row, kOpcodeCount + 1> rows_{};
};

}  // namespace gpuemu::ptx
