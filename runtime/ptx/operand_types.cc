#include "runtime/ptx/operand_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuemu::ptx {
namespace {

struct Types {
  std::array<Type, 2> of = {Type::None, Type::None};
  size_t count = 0;
  /// Set for a type that Type lacks, such as .s16x2 or one of two registers: nothing is known then.
  bool other = false;
};

Types types_of(const Instruction& instruction) {
  Types types;
  for (const std::string& modifier : instruction.modifiers) {
    const auto type = type_from_name(modifier);
    if (!type) {
      types.other = types.other || modifier.ends_with("x2") || modifier.ends_with("x4");
      continue;
    }
    types.other = types.other || *type == Type::B128;
    if (types.count < types.of.size()) types.of[types.count] = *type;
    ++types.count;
  }
  return types;
}

Type doubled(Type type) {
  switch (type) {
    case Type::S16:
    case Type::U16:
      return Type::B32;
    case Type::S32:
    case Type::U32:
      return Type::B64;
    default:
      return Type::None;
  }
}

/// For mul.wide and mad.wide, the result and the addend are twice as wide.
Type same(const Instruction& instruction, Type type, size_t index) {
  const bool wide = instruction.has(Modifier::Wide) && (index == 0 || index == 3);
  return wide ? doubled(type) : type;
}

}  // namespace

OperandType operand_type(const Instruction& instruction, size_t index, bool second) {
  using Shape = OperandShape;
  const Shape shape = info(instruction.opcode).operands;
  if (shape == Shape::Unchecked) return {};
  const Types types = types_of(instruction);
  if (types.other || types.count == 0 || types.count > 2) return {};
  const Type first = types.of[0], last = types.of[types.count - 1];
  const size_t operands = instruction.operands.size();
  if (shape != Shape::Words && shape != Shape::Convert && shape != Shape::Set &&
      shape != Shape::Slct && types.count != 1) {
    return {};
  }
  switch (shape) {
    case Shape::Same:
      return {same(instruction, first, index)};
    case Shape::Shift:
      return {index == 2 ? Type::U32 : first};
    case Shape::Field:
      return {index >= 2 ? Type::U32 : first};
    case Shape::Insert:
      return {index >= 3 ? Type::U32 : first};
    case Shape::Count:
      return {index == 0 ? Type::U32 : first};
    case Shape::Words:
      return {Type::B32};
    case Shape::Select:
      return {index == 3 ? Type::Pred : first};
    case Shape::Slct:
      return {index == 3 ? last : first};
    case Shape::Test:
      return {index == 0 ? Type::Pred : first};
    case Shape::Compare:
      return {index == 0 || index == 3 || second ? Type::Pred : first};
    case Shape::Set:
      return {index == 3 ? Type::Pred : index == 0 ? first : last, index == 0};
    case Shape::Convert:
      if (types.count != 2 || operands != 2) return {};
      return {index == 0 ? first : last, true};
    case Shape::Move:
      if (instruction.operands[index].kind == Operand::Kind::Vector) return {};
      return {first};
    case Shape::Shuffle:
      return {second ? Type::Pred : Type::B32};
    case Shape::Vote:
      return {index == 1 || (index == 0 && first == Type::Pred) ? Type::Pred : Type::B32};
    case Shape::Match:
      return {second ? Type::Pred : index == 1 ? first : Type::B32};
    case Shape::Access:
      return {first, true};
    case Shape::Atomic:
      return {first};
    case Shape::Unchecked:
      return {};
  }
  return {};
}

}  // namespace gpuemu::ptx
