// Rewrites functions that pass parameters in registers, as in .func (.reg .b32 r) f (.reg .b32 x),
// to functions with .param variables, and inserts the moves between these and the registers.
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "runtime/ptx/function_parser.h"
#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {
namespace {

/// Returns for example "b32" for a register of 32 bits, whatever its type.
std::string bits_of(Type type) { return fmt::format("b{}", 8 * byte_size(type)); }

Operand address_of(const std::string& variable) {
  Operand base;
  base.kind = Operand::Kind::Variable;
  base.name = variable;
  Operand made;
  made.kind = Operand::Kind::Address;
  made.elements.push_back(std::move(base));
  return made;
}

Instruction move(Opcode opcode, const std::string& type, std::array<Operand, 2> operands) {
  Instruction made;
  made.opcode = opcode;
  made.modifiers = {"param", type};
  made.operands.assign(operands.begin(), operands.end());
  return made;
}
}  // namespace

Result<Variable> FunctionParser::register_parameter(const Declaration& declaration,
                                                    const Token& name, Variable variable) {
  if (declaration.vector > 1 || declaration.type == Type::Pred || declaration.type == Type::B128) {
    return in_.error_at(name.where,
                        "register '{}' as a parameter is a vector or a predicate; expected a "
                        "scalar of at most 64 bits, or .param",
                        name.text);
  }
  const auto reg = static_cast<uint32_t>(function_.registers.size());
  GPUEMU_TRY(add_registers(declaration, name, 0));
  variable.name += "@param";
  variable.space = Space::Param;
  passed_.push_back({reg, variable.name});
  return variable;
}

Status FunctionParser::push(Instruction made, const Instruction& like) {
  if (state_.instruction_budget-- == 0) {
    return in_.error_at(like.where, "more than {} instructions in a module, the limit",
                        kInstructionsMax);
  }
  made.where = like.where;
  made.source = like.source;
  made.guard = like.guard;
  function_.body.push_back(std::move(made));
  return {};
}

Status FunctionParser::take_parameters() {
  Instruction begin;
  begin.where = function_.where;
  for (size_t i = passed_results_; i < passed_.size(); ++i) {
    const auto& [reg, param] = passed_[i];
    GPUEMU_TRY(push(move(Opcode::Ld, bits_of(function_.registers[reg].type),
                         {register_operand({}, reg), address_of(param)}),
                    begin));
  }
  return {};
}

Status FunctionParser::give_results(const Instruction& at) {
  for (size_t i = 0; i < passed_results_; ++i) {
    const auto& [reg, param] = passed_[i];
    GPUEMU_TRY(push(move(Opcode::St, bits_of(function_.registers[reg].type),
                         {address_of(param), register_operand({}, reg)}),
                    at));
  }
  return {};
}

Result<Operand> FunctionParser::passing_variable(Type type, const Instruction& call) {
  if (state_.variable_budget == 0) {
    return in_.error_at(call.where, "more than {} variables and parameters in a module, the limit",
                        kVariablesMax);
  }
  --state_.variable_budget;
  Variable made;
  made.name = fmt::format("@passed{}", function_.variables.size());
  made.space = Space::Param;
  made.type = type;
  made.bytes = made.align = byte_size(type);
  made.where = call.where;
  Operand operand;
  operand.kind = Operand::Kind::Variable;
  operand.name = made.name;
  function_.variables.push_back(std::move(made));
  return operand;
}

// The width of a constant argument follows from the callee.
Result<Type> FunctionParser::passed_type(const Operand& operand, size_t index,
                                         const Instruction& call) const {
  Type type = Type::None;
  if (operand.kind == Operand::Kind::Register) {
    type = function_.registers[operand.reg].type;
  } else if (const auto callee = state_.functions.find(call.operands[0].name);
             callee != state_.functions.end()) {
    const auto& params = state_.module.functions[callee->second].params;
    if (index < params.size()) type = params[index].type;
  } else if (call.operands[0].name == function_.name && index < function_.params.size()) {
    type = function_.params[index].type;
  }
  if (type != Type::None && type != Type::Pred && byte_size(type) <= 8) return type;
  return in_.error_at(call.where,
                      "argument {} of this call is no .param variable; expected one, or a register "
                      "or constant for a parameter that the callee declares",
                      index + 1);
}

Status FunctionParser::pass_arguments(Instruction& call) {
  for (size_t i = 0; i < call.call_arguments.size(); ++i) {
    Operand& given = call.call_arguments[i];
    if (given.kind == Operand::Kind::Variable) continue;
    const Type type = GPUEMU_TRY(passed_type(given, i, call));
    Operand variable = GPUEMU_TRY(passing_variable(type, call));
    GPUEMU_TRY(push(move(Opcode::St, bits_of(type), {address_of(variable.name), given}), call));
    given = std::move(variable);
  }
  return {};
}

Result<std::vector<Instruction>> FunctionParser::take_results(Instruction& call) {
  std::vector<Instruction> after;
  for (Operand& given : call.call_results) {
    if (given.kind != Operand::Kind::Register) continue;
    const Type type = GPUEMU_TRY(passed_type(given, 0, call));
    Operand variable = GPUEMU_TRY(passing_variable(type, call));
    after.push_back(move(Opcode::Ld, bits_of(type), {given, address_of(variable.name)}));
    given = std::move(variable);
  }
  return after;
}

}  // namespace gpuemu::ptx
