#include "runtime/ptx/module.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>

namespace gpuemu::ptx {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  uint32_t bytes;
};
constexpr auto kTypes = std::to_array<TypeRow>({
    {Type::None, "none", 0},     {Type::B8, "b8", 1},         {Type::B16, "b16", 2},
    {Type::B32, "b32", 4},       {Type::B64, "b64", 8},       {Type::B128, "b128", 16},
    {Type::U8, "u8", 1},         {Type::U16, "u16", 2},       {Type::U32, "u32", 4},
    {Type::U64, "u64", 8},       {Type::S8, "s8", 1},         {Type::S16, "s16", 2},
    {Type::S32, "s32", 4},       {Type::S64, "s64", 8},       {Type::F16, "f16", 2},
    {Type::F16x2, "f16x2", 4},   {Type::BF16, "bf16", 2},     {Type::BF16x2, "bf16x2", 4},
    {Type::F32, "f32", 4},       {Type::F64, "f64", 8},       {Type::TF32, "tf32", 4},
    {Type::E4M3x2, "e4m3x2", 2}, {Type::E5M2x2, "e5m2x2", 2}, {Type::E4M3, "e4m3", 1},
    {Type::E5M2, "e5m2", 1},     {Type::S4, "s4", 1},         {Type::U4, "u4", 1},
    {Type::B1, "b1", 1},         {Type::Pred, "pred", 1},
});
static_assert([] {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type != static_cast<Type>(i)) return false;
  }
  return kTypes.back().type == Type::Pred;
}());

std::string text_of(const Operand& operand);

std::string joined(const std::vector<Operand>& operands, size_t first = 0) {
  std::string out;
  for (size_t i = first; i < operands.size(); ++i) {
    if (i > first) out += ", ";
    out += text_of(operands[i]);
  }
  return out;
}

std::string with_offset(std::string base, int64_t offset) {
  if (offset != 0) base += fmt::format("{:+}", offset);
  return base;
}

std::string text_of_address(const Operand& operand) {
  std::string out = "[";
  if (!operand.elements.empty()) out += text_of(operand.elements[0]);
  out = with_offset(std::move(out), operand.offset);
  if (operand.elements.size() > 1) out += fmt::format(", {}", joined(operand.elements, 1));
  return out + "]";
}

std::string text_of(const Operand& operand) {
  using Kind = Operand::Kind;
  switch (operand.kind) {
    case Kind::Register:
      return fmt::format("{}{}", operand.negated ? "!" : "", operand.name);
    case Kind::Special:
    case Kind::Label:
      return operand.name;
    case Kind::Integer:
      return fmt::format("{}", std::bit_cast<int64_t>(operand.bits));
    case Kind::Float:
      return operand.float_bits == 32 ? fmt::format("0f{:08X}", operand.bits)
                                      : fmt::format("0d{:016X}", operand.bits);
    case Kind::Variable:
      return with_offset(operand.name, operand.offset);
    case Kind::Address:
      return text_of_address(operand);
    case Kind::Vector:
      return fmt::format("{{{}}}", joined(operand.elements));
    case Kind::PredPair:
      return operand.elements.size() == 2
                 ? fmt::format("{}|{}", text_of(operand.elements[0]), text_of(operand.elements[1]))
                 : joined(operand.elements);
    case Kind::Sink:
      return "_";
  }
  return "?";
}

std::string call_text(const Instruction& call) {
  std::string out;
  if (!call.call_results.empty()) out += fmt::format("({}), ", joined(call.call_results));
  out += joined(call.operands);
  if (!call.call_arguments.empty()) out += fmt::format(", ({})", joined(call.call_arguments));
  if (!call.call_prototype.empty()) out += fmt::format(", {}", call.call_prototype);
  return out;
}

}  // namespace

std::string text(const Operand& operand) { return text_of(operand); }

uint32_t byte_size(Type type) { return kTypes[static_cast<size_t>(type)].bytes; }

std::string_view name_of(Type type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<Type> type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.type != Type::None && row.name == name) return row.type;
  }
  return {};
}

void Instruction::set_name(std::string_view text) {
  opcode = opcode_of(text);
  unknown = opcode == Opcode::Unknown ? text : std::string_view();
}

std::string Instruction::spelling() const {
  std::string out(name());
  for (const std::string& modifier : modifiers) out.append(1, '.').append(modifier);
  return out;
}

std::string Instruction::text() const {
  std::string out;
  if (guard) out = fmt::format("@{} ", text_of(*guard));
  out += spelling();
  const std::string rest = opcode == Opcode::Call ? call_text(*this) : joined(operands);
  if (!rest.empty()) out.append(1, ' ').append(rest);
  return out;
}

const Function* Module::find(std::string_view name) const {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : &*found;
}

SourceLine Module::outermost(SourceLine line) const {
  while (line.site != 0) line = sites[line.site - 1];
  return line;
}

}  // namespace gpuemu::ptx
