// Parses one function: body, scopes, registers, labels and instructions.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/ptx/cursor.h"
#include "runtime/ptx/declaration.h"
#include "runtime/ptx/module.h"
#include "runtime/ptx/symbols.h"

namespace gpuemu::ptx {

/// State shared by all functions of a module while it is parsed.
struct ModuleState {
  Module module;
  std::unordered_map<std::string, size_t> functions;  ///< Name to index in module.functions.
  std::unordered_map<std::string, size_t> variables;
  /// File, line and column to SourceLine::site, from the last .loc with them.
  std::map<std::array<uint32_t, 3>, uint32_t> sites;
  uint64_t initialiser_budget = 0;
  uint64_t register_budget = 0;
  uint64_t variable_budget = 0;
  uint64_t instruction_budget = 0;

  bool has(const std::string& name) const {
    return functions.contains(name) || variables.contains(name);
  }
};

/// Parses .file, .loc, .pragma and .section, which mean the same inside and outside functions.
Result<bool> parse_common_directive(Cursor& in, ModuleState& state, SourceLine* line);

class FunctionParser {
 public:
  FunctionParser(Cursor& in, ModuleState& state) : in_(in), state_(state) {}

  /// Parses from after ".entry" or ".func" to the end of the body, or the ';' of a declaration.
  Result<Function> parse(bool is_entry);

 private:
  // function_parser.cc
  Result<std::vector<Variable>> parameters();
  Status performance_directives();
  Status three_numbers(uint32_t (&to)[3]);
  Status body();
  Status statement();
  Status open_scope();
  Status directive(const Token& token);
  Status registers();
  Status add_registers(const Declaration& declaration, const Token& name, uint64_t count);
  Status add_vector_register(const Declaration& declaration, const Token& name);
  Status add_register_pairs(const Token& name, uint64_t count);
  Status add_register(const std::string& name, Type type, Location where);
  Status variables(Space space);
  Status add_variable(Variable variable);
  Status labelled(const Token& name);
  Status table(const Token& name);
  Status finish();
  Status resolve(Instruction& instruction, uint32_t scope);

  // instruction_parser.cc
  Status instruction();
  Status guard(Instruction& made);
  Status call(Instruction& made);
  Result<std::vector<Operand>> call_list();
  Result<Operand> operand(uint32_t depth);
  Result<Operand> constant();
  Result<Operand> address(uint32_t depth);
  Result<Operand> vector(uint32_t depth);
  Result<Operand> named(bool negated);
  Result<Operand> pair_with(Operand first);
  Result<Operand> symbol(const Token& name);
  Result<Operand> undeclared(const Token& name);
  Operand register_operand(std::string_view name, uint32_t index) const;
  Result<int64_t> offset();
  Result<int64_t> subscripts(const Token& name);

  // register_passing.cc
  Result<Variable> register_parameter(const Declaration& declaration, const Token& name,
                                      Variable variable);
  Status push(Instruction made, const Instruction& like);
  Status take_parameters();
  Status give_results(const Instruction& at);
  Result<Operand> passing_variable(Type type, const Instruction& call);
  Result<Type> passed_type(const Operand& operand, size_t index, const Instruction& call) const;
  Status pass_arguments(Instruction& call);
  Result<std::vector<Instruction>> take_results(Instruction& call);

  Cursor& in_;
  ModuleState& state_;
  Function function_;
  SymbolTable symbols_;
  SourceLine line_;
  struct Pending {
    size_t instruction;
    uint32_t scope;
  };
  std::vector<Pending> pending_;  // Instructions that use names which may be declared later.
  struct PendingTable {
    std::string name;
    uint32_t scope;
    Location where;
  };
  std::vector<PendingTable> pending_tables_;
  bool has_pending_ = false;
  struct Passed {
    uint32_t reg;
    std::string param;
  };
  std::vector<Passed> passed_;  // Registers passed as results, then those passed as parameters.
  size_t passed_results_ = 0;
};

}  // namespace gpuemu::ptx
