// What shadow execution does at every PTX instruction, found once for each function: which
// registers may hold floats, and what an instruction means for them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/emulator/machine/program.h"
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
  Convert,     ///< To another format of floats.
  Discretise,  ///< To a whole number that is a float: what it is follows from the computed value.
  FromInteger,
  ToInteger,  ///< A decision.
  Compare,    ///< A decision.
  Copy,       ///< mov, and selp of what its predicate picks.
  Shuffle,
  Load,
  Store,
  Atomic,
  Pack,
  Unpack,
  Bits,  ///< Integer instructions, which may turn a sign or scale by a power of two.
  Matrix,
  LoadFragment,   ///< wmma.load and ldmatrix.
  StoreFragment,  ///< wmma.store and stmatrix.
  Forget,         ///< Anything else that writes a register which may hold a float.
};

/// How an instruction that decides does so: what it compares for, or where it rounds to.
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

/// An operand: a register with the planes of its shadow, or a constant.
struct Source {
  uint32_t reg = kNone;    ///< Index into Code::registers; kNone: a constant.
  uint32_t offset = 0;     ///< In the frame.
  uint32_t bytes = 4;      ///< Per lane: 4 or 8; 0: a predicate.
  uint32_t plane = kNone;  ///< The first of Plan::planes_each; kNone: never holds a float.
  uint64_t bits = 0;       ///< Value of a constant.
  bool fixed = false;      ///< A constant, or a register that only ever has one.
  bool negated = false;    ///< For a predicate.
};

inline bool moves_fragment(Meaning meaning) {
  return meaning == Meaning::LoadFragment || meaning == Meaning::StoreFragment;
}

struct Operation {
  Meaning meaning = Meaning::None;
  Format from = Format::None, to = Format::None;
  Decision decision = Decision::None;
  uint8_t pairs = 1;       ///< Elements of one register: 2 for f16x2.
  bool saturates = false;  ///< To [0, 1].
  bool is_unsigned = false;
  bool magic = false;            ///< One addend is the constant that makes the sum a whole number.
  bool picks_last = false;       ///< Packed conversions: the first operand is the upper half.
  uint32_t element = 0;          ///< Bytes of one element of a load, store or atomic.
  double unit = 0;               ///< What it rounds, relative to the result,
  double absolute = 0;           ///< and in any case.
  const Step* access = nullptr;  ///< The step with the address.
  const TensorStep* tensor = nullptr;
  uint32_t index = 0;  ///< Index of the instruction in the function.
  std::vector<Source> results, operands;
};

/// The shadow operations of one function.
struct Plan {
  const Code* code = nullptr;
  std::vector<Operation> operations;  ///< One per PTX instruction.
  /// Per step: whether it is the first of its instruction (1) or has its address (2).
  std::vector<uint8_t> roles;
  uint32_t planes = 0;       ///< Planes of one frame.
  uint32_t planes_each = 1;  ///< Planes of one register: 2 where registers hold two floats.
  std::vector<uint32_t> plane_of_offset;  ///< By offset / 128: registers of floats in the frame.
};

Plan make_plan(const Code& code, ShadowErrors errors);

}  // namespace gpuemu::emulator
