#include "runtime/emulator/shadow/float_registers.h"

#include <algorithm>

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Trait;
using ptx::Type;

bool names_float(const Instruction& in) {
  return std::ranges::any_of(in.modifiers, [](const std::string& modifier) {
    const auto type = ptx::type_from_name(modifier);
    if (!type) return false;
    return *type == Type::F16 || *type == Type::F16x2 || *type == Type::BF16 ||
           *type == Type::BF16x2 || *type == Type::F32 || *type == Type::F64 || *type == Type::TF32;
  });
}

bool is_copy(const Instruction& in) { return in.has(Trait::CarriesValue) || is_bitwise(in); }
bool is_matrix(const Instruction& in) { return in.has(Trait::RegisterMatrix) || moves_rows(in); }

/// Calls `visit` with every register that the instruction reads as a value.
template <typename Visit>
void each_value(const Instruction& in, const Visit& visit) {
  const bool stores = in.has(Trait::Writes) && !in.has(Trait::Reads);
  for (size_t i = stores ? 0 : 1; i < in.operands.size(); ++i) {
    const Operand& operand = in.operands[i];
    if (operand.kind == Operand::Kind::Register) visit(operand);
    if (operand.kind != Operand::Kind::Vector) continue;
    for (const Operand& part : operand.elements) {
      if (part.kind == Operand::Kind::Register) visit(part);
    }
  }
}

bool uses_pairs(const ptx::Function& function) {
  return std::ranges::any_of(function.body, [](const Instruction& in) {
    const bool packs = in.opcode == Opcode::Mov && in.operands.size() == 2 &&
                       (in.operands[0].kind == Operand::Kind::Vector ||
                        in.operands[1].kind == Operand::Kind::Vector);
    return packs || is_matrix(in) ||
           std::ranges::any_of(in.modifiers, [](const std::string& modifier) {
             const auto type = ptx::type_from_name(modifier);
             return type && (*type == Type::F16 || *type == Type::F16x2 || *type == Type::BF16 ||
                             *type == Type::BF16x2);
           });
  });
}
}  // namespace

bool moves_rows(const Instruction& in) {
  return (in.opcode == Opcode::Ldmatrix || in.opcode == Opcode::Stmatrix) &&
         in.has(ptx::Modifier::M8n8) && in.has(ptx::Modifier::B16);
}

bool is_bitwise(const Instruction& in) { return in.has(Trait::MovesBits) && !names_float(in); }

FloatRegisters find_float_registers(const ptx::Function& function) {
  const size_t count = function.registers.size();
  std::vector<bool> made(count), used(count);
  const auto mark = [](std::vector<bool>& set, uint32_t reg, bool& changed) {
    if (!set[reg]) changed = set[reg] = true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& in : function.body) {
      const bool source = names_float(in) || is_matrix(in) || in.has(Trait::Reads);
      bool from = source && !in.has(ptx::Modifier::Param);
      if (!from && is_copy(in)) {
        each_value(in, [&](const Operand& operand) { from = from || made[operand.reg]; });
      }
      if (from) each_result(in, [&](const Operand& to) { mark(made, to.reg, changed); });
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto in = function.body.rbegin(); in != function.body.rend(); ++in) {
      bool to = names_float(*in) || is_matrix(*in) || in->has(Trait::Writes);
      if (!to && is_copy(*in)) {
        each_result(*in, [&](const Operand& operand) { to = to || used[operand.reg]; });
      }
      if (to) each_value(*in, [&](const Operand& operand) { mark(used, operand.reg, changed); });
    }
  }
  FloatRegisters found;
  found.holds.resize(count);
  for (size_t reg = 0; reg < count; ++reg) {
    found.holds[reg] = made[reg] && used[reg] && function.registers[reg].type != Type::Pred;
  }
  found.pairs = uses_pairs(function);
  return found;
}

}  // namespace gpuemu::emulator
