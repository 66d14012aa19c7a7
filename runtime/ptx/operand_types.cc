#include "runtime/ptx/operand_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuemu::ptx {
namespace {

/// How the types of the modifiers spread over the operands.
enum class Shape : uint8_t {
  Same,     ///< All have the one type.
  Shift,    ///< The amount is .u32.
  Field,    ///< bfe: position and length are .u32.
  Insert,   ///< bfi: the last two are .u32.
  Count,    ///< bfind, clz, popc: the result is .u32.
  Words,    ///< All have 32 bits, whatever the types say.
  Select,   ///< selp: the last is a predicate.
  Slct,     ///< The last has the second type.
  Test,     ///< testp: the result is a predicate.
  Compare,  ///< setp: predicates around operands of the one type.
  Set,      ///< A result of the first type, operands of the second.
  Convert,  ///< cvt
  Move,     ///< mov: all, but not the parts that are packed.
  Shuffle,  ///< shfl: words and a predicate.
  Vote,     ///< A predicate, the lanes, and either as result.
  Match,    ///< A value of the type, words and a predicate.
  Access,   ///< ld, st: all but the address.
};

struct Rule {
  std::string_view family;
  Shape shape;
};
constexpr auto kRules = std::to_array<Rule>({
    {"abs", Shape::Same},      {"add", Shape::Same},     {"addc", Shape::Same},
    {"and", Shape::Same},      {"atom", Shape::Access},  {"bfe", Shape::Field},
    {"bfi", Shape::Insert},    {"bfind", Shape::Count},  {"bmsk", Shape::Words},
    {"brev", Shape::Same},     {"clz", Shape::Count},    {"cnot", Shape::Same},
    {"copysign", Shape::Same}, {"cos", Shape::Same},     {"cvt", Shape::Convert},
    {"div", Shape::Same},      {"dp2a", Shape::Words},   {"dp4a", Shape::Words},
    {"ex2", Shape::Same},      {"fma", Shape::Same},     {"fns", Shape::Words},
    {"ld", Shape::Access},     {"ldu", Shape::Access},   {"lg2", Shape::Same},
    {"mad", Shape::Same},      {"mad24", Shape::Same},   {"madc", Shape::Same},
    {"match", Shape::Match},   {"max", Shape::Same},     {"min", Shape::Same},
    {"mov", Shape::Move},      {"mul", Shape::Same},     {"mul24", Shape::Same},
    {"neg", Shape::Same},      {"not", Shape::Same},     {"or", Shape::Same},
    {"popc", Shape::Count},    {"prmt", Shape::Words},   {"rcp", Shape::Same},
    {"red", Shape::Access},    {"redux", Shape::Words},  {"rem", Shape::Same},
    {"rsqrt", Shape::Same},    {"sad", Shape::Same},     {"selp", Shape::Select},
    {"set", Shape::Set},       {"setp", Shape::Compare}, {"shf", Shape::Words},
    {"shfl", Shape::Shuffle},  {"shl", Shape::Shift},    {"shr", Shape::Shift},
    {"sin", Shape::Same},      {"slct", Shape::Slct},    {"sqrt", Shape::Same},
    {"st", Shape::Access},     {"sub", Shape::Same},     {"subc", Shape::Same},
    {"szext", Shape::Words},   {"tanh", Shape::Same},    {"testp", Shape::Test},
    {"vote", Shape::Vote},     {"xor", Shape::Same},
});
static_assert(std::ranges::is_sorted(kRules, {}, &Rule::family));

struct Types {
  std::array<Type, 2> of = {Type::None, Type::None};
  size_t count = 0;
  /// A type that Type does not have, such as .s16x2, or one of two registers: nothing is known.
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

/// mul.wide and mad.wide: the result and what is added are twice as wide.
Type same(const Instruction& instruction, Type type, size_t index) {
  const bool wide = instruction.has("wide") && (index == 0 || index == 3);
  return wide ? doubled(type) : type;
}

}  // namespace

OperandType operand_type(const Instruction& instruction, size_t index, bool second) {
  const auto rule =
      std::ranges::lower_bound(kRules, std::string_view(instruction.family), {}, &Rule::family);
  const Types types = types_of(instruction);
  if (rule == kRules.end() || rule->family != instruction.family || types.other ||
      types.count == 0 || types.count > 2)
    return {};
  const Type first = types.of[0], last = types.of[types.count - 1];
  const size_t operands = instruction.operands.size();
  if (rule->shape != Shape::Words && rule->shape != Shape::Convert && rule->shape != Shape::Set &&
      rule->shape != Shape::Slct && types.count != 1)
    return {};
  switch (rule->shape) {
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
      return {first, instruction.family == "ld" || instruction.family == "ldu" ||
                         instruction.family == "st"};
  }
  return {};
}

}  // namespace gpuemu::ptx
