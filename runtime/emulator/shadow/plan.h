// The plan of shadow execution, computed once per function: which registers may hold floats, and
// what each PTX instruction does with them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/shadow/float_format.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu::emulator {

enum class Meaning : uint8_t {
  None,
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Min,
  Max,
  Neg,
  Abs,
  CopySign,
  Sqrt,
  Rsqrt,
  Rcp,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Convert,     ///< To another float format.
  Discretise,  ///< To a whole number in a float, which is taken from the computed value.
  FromInteger,
  ToInteger,  ///< A decision.
  Compare,    ///< A decision.
  Copy,       ///< mov, and selp with the operand that its predicate selects.
  Shuffle,
  Load,
  Store,
  Atomic,
  Pack,
  Unpack,
  Bits,  ///< Integer instructions that may flip a sign or scale by a power of two.
  Matrix,
  LoadFragment,   ///< wmma.load and ldmatrix.
  StoreFragment,  ///< wmma.store and stmatrix.
  Forget,  ///< Anything else that writes a register which may hold a float; its shadow becomes
           ///< void.
};

/// How a deciding instruction decides: its comparison, or its rounding.
enum class Decision : uint8_t {
  None,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  ToNearest,
  Down,
  Up,
  ToZero,
};

/// An operand: a register with its shadow planes, or a constant.
struct Source {
  uint32_t reg = kNone;    ///< Index into Code::registers; kNone: a constant.
  uint32_t offset = 0;     ///< Offset in the frame.
  uint32_t bytes = 4;      ///< Per lane: 4 or 8; 0: a predicate.
  uint32_t plane = kNone;  ///< First of its Plan::planes_each planes; kNone: never holds a float.
  uint64_t bits = 0;       ///< Value of a constant.
  bool fixed = false;      ///< A constant, or a register that only ever holds one.
  bool negated = false;    ///< For a predicate only.
};

inline bool moves_fragment(Meaning meaning) {
  return meaning == Meaning::LoadFragment || meaning == Meaning::StoreFragment;
}

struct Operation {
  Meaning meaning = Meaning::None;
  Format from = Format::None, to = Format::None;
  Decision decision = Decision::None;
  uint8_t pairs = 1;       ///< Elements per register: 2 for f16x2.
  bool saturates = false;  ///< Clamps to [0, 1].
  bool is_unsigned = false;
  bool magic = false;            ///< One addend is a constant that makes the sum a whole number.
  bool picks_last = false;       ///< Packed conversions: the first operand is the upper half.
  uint32_t element = 0;          ///< Bytes per element of a load, store or atomic.
  double unit = 0;               ///< Rounding error relative to the result.
  double absolute = 0;           ///< Absolute rounding error, in addition.
  const Step* access = nullptr;  ///< The step that has the address.
  const TensorStep* tensor = nullptr;
  uint32_t index = 0;  ///< Index of the instruction in the function.
  std::vector<Source> results, operands;
};

/// The shadow operations of one function.
struct Plan {
  const Code* code = nullptr;
  std::vector<Operation> operations;  ///< One per PTX instruction.
  /// Role of each step: the first of its instruction (1), or the one with its address (2).
  std::vector<uint8_t> roles;
  uint32_t planes = 0;       ///< Number of planes per frame.
  uint32_t planes_each = 1;  ///< Planes per register: 2 if registers may hold two floats.
  std::vector<uint32_t> plane_of_offset;  ///< Float registers of the frame, by offset / 128.
};

Plan make_plan(const Code& code, ShadowErrors errors);

}  // namespace gpuemu::emulator
