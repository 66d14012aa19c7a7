#include "runtime/ptx/verify.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common/base/text.h"
#include "runtime/ptx/operand_types.h"

namespace gpuemu::ptx {
namespace {

using Names = std::unordered_set<std::string_view>;

class Verifier {
 public:
  Verifier(const Module& module, const Cursor& in) : module_(module), in_(in) {
    for (const Variable& variable : module.variables) variables_.insert(variable.name);
    for (const Function& function : module.functions) functions_[function.name] = &function;
  }

  Status run() {
    for (const Variable& variable : module_.variables) GPUEMU_TRY(check(variable));
    for (const Function& function : module_.functions) {
      local_.clear();
      for (const Variable& variable : function.params) local_.insert(variable.name);
      for (const Variable& variable : function.results) local_.insert(variable.name);
      for (const Variable& variable : function.variables) local_.insert(variable.name);
      for (const Label& label : function.labels) local_.insert(label.name);
      for (const auto& [name, targets] : function.branch_targets) local_.insert(name);
      for (const Variable& variable : function.variables) GPUEMU_TRY(check(variable));
      for (const Instruction& instruction : function.body) GPUEMU_TRY(check(function, instruction));
    }
    return {};
  }

 private:
  bool known(std::string_view name) const {
    return local_.contains(name) || variables_.contains(name) || functions_.contains(name);
  }

  Status check(const Variable& variable) const {
    for (const Variable::Relocation& relocation : variable.relocations) {
      if (known(relocation.symbol)) continue;
      return in_.error_at(
          variable.where,
          "unknown name '{}' in the initialiser of '{}'; expected a variable or function",
          relocation.symbol, variable.name);
    }
    return {};
  }

  Status check(const Function& function, const Instruction& instruction) const {
    if (instruction.opcode == Opcode::Call) GPUEMU_TRY(check_call(instruction));
    for (const auto* list :
         {&instruction.operands, &instruction.call_results, &instruction.call_arguments}) {
      for (const Operand& operand : *list) GPUEMU_TRY(check(function, instruction, operand));
    }
    const InstructionInfo& row = info(instruction.opcode);
    const size_t count = instruction.operands.size();
    const bool known = instruction.opcode != Opcode::Unknown;
    if (known && (count < row.operands_min || count > row.operands_max)) {
      return in_.error_at(instruction.where, "'{}' has {}; expected {} to {}",
                          instruction.spelling(), counted(count, "operand"), row.operands_min,
                          row.operands_max);
    }
    for (size_t i = 0; i < count; ++i) {
      const Operand& operand = instruction.operands[i];
      const bool pair = operand.kind == Operand::Kind::PredPair;
      GPUEMU_TRY(check_type(function, instruction, pair ? operand.elements[0] : operand,
                            operand_type(instruction, i, false)));
      if (!pair) continue;
      GPUEMU_TRY(check_type(function, instruction, operand.elements[1],
                            operand_type(instruction, i, true)));
    }
    return {};
  }

  /// Registers are untyped bits: only their size matters, and whether they are predicates.
  Status check_type(const Function& function, const Instruction& instruction,
                    const Operand& operand, OperandType expected) const {
    using Kind = Operand::Kind;
    if (expected.type == Type::None) return {};
    if (operand.kind == Kind::Vector) {
      for (const Operand& element : operand.elements) {
        GPUEMU_TRY(check_type(function, instruction, element, expected));
      }
      return {};
    }
    const uint32_t wanted = byte_size(expected.type);
    if (operand.kind == Kind::Float && wanted < 4) {
      return in_.error_at(instruction.where,
                          "a float literal in '{}', whose operand has {} bits; expected its bits "
                          "as an integer",
                          instruction.text(), 8 * wanted);
    }
    if (operand.kind != Kind::Register) return {};
    const Register& given = function.registers[operand.reg];
    // %r1.b0 is a part of a register, which only some instructions accept.
    if (operand.name.size() > given.name.size()) return {};
    const bool predicate = given.type == Type::Pred;
    const uint32_t bytes = byte_size(given.type);
    const bool fits = bytes == wanted || (expected.may_be_wider && bytes > wanted);
    if (fits && predicate == (expected.type == Type::Pred)) return {};
    return in_.error_at(instruction.where, "register '{}' of .{} in '{}'; expected one of .{}{}",
                        given.name, name_of(given.type), instruction.text(), name_of(expected.type),
                        expected.may_be_wider ? " or wider" : "");
  }

  Status check(const Function& function, const Instruction& instruction,
               const Operand& operand) const {
    using Kind = Operand::Kind;
    if (operand.kind == Kind::Variable && !known(operand.name)) {
      return in_.error_at(instruction.where,
                          "unknown name '{}'; expected a register, variable, function or label",
                          operand.name);
    }
    if (operand.kind == Kind::Address && operand.elements[0].kind == Kind::Register) {
      const Register& base = function.registers[operand.elements[0].reg];
      if (byte_size(base.type) < 4) {
        return in_.error_at(instruction.where,
                            "address register '{}' is .{}; expected one of 32 or 64 bits",
                            base.name, name_of(base.type));
      }
    }
    if (operand.negated && function.registers[operand.reg].type != Type::Pred) {
      return in_.error_at(instruction.where, "'!' before '{}' of .{}; expected a .pred register",
                          operand.name, name_of(function.registers[operand.reg].type));
    }
    for (const Operand& element : operand.elements) {
      GPUEMU_TRY(check(function, instruction, element));
    }
    return {};
  }

  Status check_call(const Instruction& call) const {
    const Operand& callee = call.operands[0];
    if (callee.kind == Operand::Kind::Register) return {};
    const auto found = functions_.find(callee.name);
    if (callee.kind != Operand::Kind::Variable || found == functions_.end()) {
      return in_.error_at(call.where,
                          "unknown function '{}'; expected a .func declared in this module",
                          callee.name);
    }
    const Function& function = *found->second;
    if (call.call_arguments.size() != function.params.size() ||
        call.call_results.size() != function.results.size()) {
      return in_.error_at(call.where, "call of '{}' with {} and {}; expected {} and {}",
                          callee.name, counted(call.call_arguments.size(), "argument"),
                          counted(call.call_results.size(), "result"), function.params.size(),
                          function.results.size());
    }
    return {};
  }

  const Module& module_;
  const Cursor& in_;
  Names variables_;
  std::unordered_map<std::string_view, const Function*> functions_;
  Names local_;
};

}  // namespace

Status verify(const Module& module, const Cursor& in) { return Verifier(module, in).run(); }

}  // namespace gpuemu::ptx
