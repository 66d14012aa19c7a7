// The PTX instructions and what they are, from instructions.def: the only list of them. A property
// that several analyses need is a trait here; what one analysis does with single instructions is a
// PerOpcode table of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuemu::ptx {

/// One per row of instructions.def, in its order. Unknown: an instruction that the table does not
/// have; it parses, and only its text says what it is.
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
  Unknown  ///< The class of Opcode::Unknown alone.
};

/// How the types of the modifiers spread over the operands.
enum class OperandShape : uint8_t {
  Unchecked,  ///< Any register goes.
  Same,       ///< All have the one type.
  Shift,      ///< The amount is .u32.
  Field,      ///< bfe: position and length are .u32.
  Insert,     ///< bfi: the last two are .u32.
  Count,      ///< bfind, clz, popc: the result is .u32.
  Words,      ///< All have 32 bits, whatever the types say.
  Select,     ///< selp: the last is a predicate.
  Slct,       ///< The last has the second type.
  Test,       ///< testp: the result is a predicate.
  Compare,    ///< setp: predicates around operands of the one type.
  Set,        ///< A result of the first type, operands of the second.
  Convert,    ///< cvt
  Move,       ///< mov: all, but not the parts that are packed.
  Shuffle,    ///< shfl: words and a predicate.
  Vote,       ///< A predicate, the lanes, and either as result.
  Match,      ///< A value of the type, words and a predicate.
  Access,     ///< ld, st: all but the address; registers may be wider than the type.
  Atomic,     ///< atom, red: all but the address.
};

/// What analyses ask of an instruction.
enum class Trait : uint8_t {
  // Memory
  Reads,          ///< One access at an address, which gives a register its value.
  Writes,         ///< One access at an address, which takes a register's value.
  TouchesMemory,  ///< Accesses, copies, and hints about memory.
  // Effects
  NoResult,      ///< The first operand is no result; unless a modifier is .red.
  Refused,       ///< The emulator executes no form of it.
  NoEffect,      ///< A hint: the emulator does nothing for it.
  Branches,      ///< Goes on at a label.
  Leaves,        ///< Ends the function or the thread.
  UseIsVisible,  ///< Whether it is executed shows outside of registers.
  OnlyAssigns,   ///< Compilers branch around it, and it does nothing but write a register.
  // Threads
  Synchronizes,   ///< A barrier of threads.
  Fences,         ///< Orders memory accesses.
  Waits,          ///< Waits for others, or signals them, but is no barrier.
  TakesMembers,   ///< Has a mask of lanes as its last operand when it is .sync.
  UniformResult,  ///< The result is the same in all lanes that take part.
  VaryingResult,  ///< The result differs between lanes, whatever went in.
  CombinesLanes,  ///< The result is computed from the values of all lanes.
  // Operands and values
  Compares,        ///< Compares two operands by a condition among its modifiers.
  Selects,         ///< Takes one of two operands.
  MatrixProduct,   ///< Multiplies matrices, at least with the modifier .mma.
  RegisterMatrix,  ///< Matrices of a product in registers, with types of their own.
  FreshResult,     ///< The result is no function of the register operands.
  EndsTracking,    ///< Undefined values are not followed through it.
  MixesBits,       ///< One operand may decide alone, or the parts of words are put together.
  KeepsBits,       ///< The result has the bits of its only operand.
  CarriesValue,    ///< The result is one of the operands, as it is.
  MovesBits,       ///< On integers: may change the sign or exponent of a float, or move it.
  PassesOn,        ///< A narrow float in the operands is the one in the result.
  PassesIndex,     ///< An index in the operands is an index in the result.
  IndexMath,       ///< Compilers compute indices and sizes with it.
  RevealsSizes,    ///< A constant operand may be a size at which a kernel changes its ways.
  ComparesSizes,   ///< Compares an operand with such a size.
  // Floating point
  MakesNonFinite,   ///< May make a NaN or an infinity of finite operands.
  FloatArithmetic,  ///< One of the four operations on floats, or fma.
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

/// By Opcode; the last is that of Opcode::Unknown.
extern const std::array<InstructionInfo, kOpcodeCount + 1> kInstructions;

inline const InstructionInfo& info(Opcode opcode) {
  return kInstructions[static_cast<size_t>(opcode)];
}

/// The instruction with this text before its modifiers; Unknown for a text that has no row.
Opcode opcode_of(std::string_view text);
/// Whether PTX has it up to the newest version that this reader knows (limits.h), with a row or
/// without.
bool is_instruction(std::string_view text);

/// A row for some opcodes: constructed from pairs, of which two with the same opcode do not
/// compile.
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
  /// Null for an opcode without a row.
  constexpr const Row* find(Opcode opcode) const {
    const auto at = static_cast<size_t>(opcode);
    return given_[at] ? &rows_[at] : nullptr;
  }

 private:
  std::array<bool, kOpcodeCount + 1> given_{};
  std::array<Row, kOpcodeCount + 1> rows_{};
};

}  // namespace gpuemu::ptx
