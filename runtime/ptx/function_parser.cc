#include "runtime/ptx/function_parser.h"

#include <algorithm>
#include <utility>

#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {

Result<Function> FunctionParser::parse(bool is_entry) {
  function_.is_entry = is_entry;
  while (in_.accept_directive(".attribute")) GPUEMU_TRY(in_.skip_parentheses());
  if (in_.is('(')) function_.results = GPUEMU_TRY(parameters());
  passed_results_ = passed_.size();
  function_.where = in_.peek().where;
  function_.name = GPUEMU_TRY(in_.word("the name of a function"));
  if (in_.is('(')) function_.params = GPUEMU_TRY(parameters());
  GPUEMU_TRY(performance_directives());
  if (in_.accept(';')) {
    function_.is_extern = true;
    return std::move(function_);
  }
  if (!in_.is('{')) return in_.unexpected("'{' before the body of a function or ';'");
  GPUEMU_TRY(body());
  GPUEMU_TRY(finish());
  return std::move(function_);
}

Result<std::vector<Variable>> FunctionParser::parameters() {
  std::vector<Variable> list;
  in_.take();
  if (in_.accept(')')) return list;
  do {
    const Token token = in_.take();
    const auto space = space_from_directive(token.text);
    if (token.kind != TokenKind::Directive || (space != Space::Param && space != Space::Reg)) {
      return in_.error_at(token.where, "unexpected '{}'; expected .param before a parameter",
                          token.text);
    }
    const Declaration declaration = GPUEMU_TRY(parse_declaration(in_, *space));
    const Token name = in_.peek();
    std::vector<Variable> declared =
        GPUEMU_TRY(parse_declarator(in_, declaration, state_.variable_budget));
    for (Variable& variable : declared) {
      if (space == Space::Reg) {
        variable = GPUEMU_TRY(register_parameter(declaration, name, std::move(variable)));
      } else if (variable.name != "_") {
        symbols_.suffix_for(symbols_.keep(variable.name));
        const std::string_view kept = symbols_.keep(variable.name);
        if (!symbols_.declare(kept, {Symbol::Kind::Param, 0, 1})) {
          return in_.error_at(name.where, "duplicate parameter '{}'", variable.name);
        }
      }
      list.push_back(std::move(variable));
    }
  } while (in_.accept(','));
  GPUEMU_TRY(in_.expect(')', "or ',' after a parameter"));
  return list;
}

Status FunctionParser::three_numbers(uint32_t (&to)[3]) {
  constexpr uint64_t kAny = uint64_t{1} << 32;
  to[0] = GPUEMU_TRY(in_.integer_below(kAny, "a number of threads or blocks"));
  to[1] = to[2] = 1;
  for (size_t i = 1; i < 3 && in_.accept(','); ++i) {
    to[i] = GPUEMU_TRY(in_.integer_below(kAny, "a number of threads or blocks"));
  }
  return {};
}

Status FunctionParser::performance_directives() {
  constexpr uint64_t kAny = uint64_t{1} << 32;
  while (in_.peek().kind == TokenKind::Directive) {
    const Token token = in_.take();
    const std::string_view name = token.text;
    if (name == ".reqntid") {
      GPUEMU_TRY(three_numbers(function_.reqntid));
    } else if (name == ".maxntid") {
      GPUEMU_TRY(three_numbers(function_.maxntid));
    } else if (name == ".reqnctapercluster") {
      GPUEMU_TRY(three_numbers(function_.reqnctapercluster));
    } else if (name == ".minnctapersm") {
      function_.minnctapersm = GPUEMU_TRY(in_.integer_below(kAny, "a number of blocks"));
    } else if (name == ".maxnreg") {
      function_.maxnreg = GPUEMU_TRY(in_.integer_below(kAny, "a number of registers"));
    } else if (name == ".noreturn") {
      function_.noreturn = true;
    } else if (name == ".explicitcluster") {
      function_.explicit_cluster = true;
    } else if (name == ".attribute") {
      GPUEMU_TRY(in_.skip_parentheses());
    } else if (name == ".pragma") {
      while (in_.peek().kind == TokenKind::String || in_.is(',')) in_.take();
      in_.accept(';');
    } else {
      // Newer tuning directives do not change results: skip their arguments.
      while (in_.peek().kind == TokenKind::Number || in_.is(',')) in_.take();
    }
  }
  return {};
}

Status FunctionParser::body() {
  const Location opened = in_.peek().where;
  in_.take();
  GPUEMU_TRY(take_parameters());
  for (;;) {
    if (in_.peek().kind == TokenKind::End) {
      return in_.error_at(in_.peek().where,
                          "the body of '{}', opened on line {}, does not end; expected '}}'",
                          function_.name, opened.line);
    }
    if (!in_.is('}')) {
      GPUEMU_TRY(statement());
      continue;
    }
    in_.take();
    if (symbols_.depth() == 0) break;
    symbols_.close();
  }
  Instruction end;
  end.where = opened;
  return give_results(end);
}

Status FunctionParser::statement() {
  if (in_.is('@')) return instruction();
  if (in_.accept(';')) return {};
  if (in_.is('{')) return open_scope();
  if (in_.peek().kind == TokenKind::Directive) {
    if (GPUEMU_TRY(parse_common_directive(in_, state_, &line_))) return {};
    return directive(in_.take());
  }
  if (in_.peek().kind != TokenKind::Word) {
    return in_.unexpected("an instruction, a directive, a label or '}'");
  }
  if (in_.next_is(':')) return labelled(in_.take());
  return instruction();
}

Status FunctionParser::open_scope() {
  const Token brace = in_.take();
  if (symbols_.depth() >= kScopeDepthMax) {
    return in_.error_at(brace.where, "scopes nest deeper than {}, the limit", kScopeDepthMax);
  }
  symbols_.open();
  return {};
}

Status FunctionParser::directive(const Token& token) {
  if (token.text == ".reg") return registers();
  if (const auto space = space_from_directive(token.text)) return variables(*space);
  if (token.text == ".extern" || token.text == ".visible" || token.text == ".weak" ||
      token.text == ".common") {
    return {};
  }
  return in_.error_at(
      token.where,
      "unknown directive '{}' in a function; expected .reg, a state space, .loc or .pragma",
      token.text);
}

Status FunctionParser::registers() {
  const Declaration declaration = GPUEMU_TRY(parse_declaration(in_, Space::Reg));
  do {
    const Token name = in_.peek();
    GPUEMU_TRY(in_.word("the name of a register"));
    uint64_t count = 0;
    if (in_.accept('<')) {
      count = GPUEMU_TRY(in_.count_below(kRegistersMax + 1, "a count of registers"));
      GPUEMU_TRY(in_.expect('>', "after the count of registers"));
      if (count == 0) continue;
    }
    GPUEMU_TRY(add_registers(declaration, name, count));
  } while (in_.accept(','));
  return in_.expect(';', "or ',' after a register");
}

// `count` 0 declares a single name.
Status FunctionParser::add_registers(const Declaration& declaration, const Token& name,
                                     uint64_t count) {
  if (declaration.vector > 1) return add_vector_register(declaration, name);
  if (declaration.type == Type::B128) return add_register_pairs(name, count);
  const auto first = static_cast<uint32_t>(function_.registers.size());
  const bool fresh = count == 0
                         ? symbols_.declare(name.text, {Symbol::Kind::Register, first, 1})
                         : symbols_.declare_range(name.text, first, static_cast<uint32_t>(count));
  if (!fresh) return in_.error_at(name.where, "duplicate register '{}' in this scope", name.text);
  if (count == 0) {
    return add_register(std::string(name.text) + symbols_.suffix_for(name.text), declaration.type,
                        name.where);
  }
  const std::string suffix = symbols_.suffix_for(symbols_.keep(std::string(name.text) + "<"));
  function_.registers.reserve(std::min<size_t>(first + count, kRegistersMax));
  for (uint64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    GPUEMU_TRY(
        add_register(std::string(name.text) + number + suffix, declaration.type, name.where));
  }
  return {};
}

// .reg .v4 .f32 v declares v.x, v.y, v.z and v.w; v stands for all of them.
Status FunctionParser::add_vector_register(const Declaration& declaration, const Token& name) {
  constexpr std::string_view kParts = "xyzw";
  const auto first = static_cast<uint32_t>(function_.registers.size());
  const auto count = std::min(declaration.vector, 4u);
  if (!symbols_.declare(name.text, {Symbol::Kind::VectorRegister, first, count})) {
    return in_.error_at(name.where, "duplicate register '{}' in this scope", name.text);
  }
  const std::string suffix = symbols_.suffix_for(name.text);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view part = symbols_.keep(std::string(name.text) + "." + kParts[i]);
    symbols_.declare(part, {Symbol::Kind::Register, first + i, 1});
    GPUEMU_TRY(add_register(std::string(part) + suffix, declaration.type, name.where));
  }
  return {};
}

// .reg .b128 q declares q.lo and q.hi of 64 bits; q stands for both, like a vector.
Status FunctionParser::add_register_pairs(const Token& name, uint64_t count) {
  for (uint64_t i = 0; i < std::max<uint64_t>(count, 1); ++i) {
    const auto first = static_cast<uint32_t>(function_.registers.size());
    std::string whole(name.text);
    if (count != 0) whole += std::to_string(i);
    const std::string_view kept = symbols_.keep(std::move(whole));
    if (!symbols_.declare(kept, {Symbol::Kind::VectorRegister, first, 2})) {
      return in_.error_at(name.where, "duplicate register '{}' in this scope", kept);
    }
    const std::string suffix = symbols_.suffix_for(kept);
    for (const char* part : {".lo", ".hi"}) {
      GPUEMU_TRY(add_register(fmt::format("{}{}{}", kept, part, suffix), Type::B64, name.where));
    }
  }
  return {};
}

Status FunctionParser::add_register(const std::string& name, Type type, Location where) {
  if (function_.registers.size() >= kRegistersMax || state_.register_budget == 0) {
    return in_.error_at(where, "more than {} registers in a function or {} in a module, the limits",
                        kRegistersMax, kModuleRegistersMax);
  }
  --state_.register_budget;
  function_.registers.push_back({name, type});
  return {};
}

Status FunctionParser::variables(Space space) {
  const Declaration declaration = GPUEMU_TRY(parse_declaration(in_, space));
  do {
    std::vector<Variable> declared =
        GPUEMU_TRY(parse_declarator(in_, declaration, state_.variable_budget));
    for (Variable& variable : declared) {
      GPUEMU_TRY(parse_initialiser(in_, variable, state_.initialiser_budget));
      GPUEMU_TRY(add_variable(std::move(variable)));
    }
  } while (in_.accept(','));
  return in_.expect(';', "or ',' after a variable");
}

Status FunctionParser::add_variable(Variable variable) {
  const std::string_view name = symbols_.keep(variable.name);
  const auto index = static_cast<uint32_t>(function_.variables.size());
  if (!symbols_.declare(name, {Symbol::Kind::Variable, index, 1})) {
    return in_.error_at(variable.where, "duplicate name '{}' in this scope", name);
  }
  std::string suffix = symbols_.suffix_for(name);
  // The module's variable can be used elsewhere in the function, so the names must differ.
  if (suffix.empty() && state_.has(variable.name)) suffix = symbols_.suffix_for(name);
  variable.name += suffix;
  function_.variables.push_back(std::move(variable));
  return {};
}

// Parses a label, or a table: "ts: .branchtargets a, b;".
Status FunctionParser::labelled(const Token& name) {
  in_.take();
  if (in_.is_directive(".branchtargets") || in_.is_directive(".calltargets") ||
      in_.is_directive(".callprototype")) {
    return table(name);
  }
  const auto index = static_cast<uint32_t>(function_.labels.size());
  if (!symbols_.declare(name.text, {Symbol::Kind::Label, index, 1})) {
    return in_.error_at(name.where, "duplicate label '{}'; each scope may have a name once",
                        name.text);
  }
  const std::string unique = std::string(name.text) + symbols_.suffix_for(name.text);
  function_.labels.push_back({unique, static_cast<uint32_t>(function_.body.size())});
  return {};
}

Status FunctionParser::table(const Token& name) {
  const std::string_view directive = in_.take().text;
  const bool prototype = directive == ".callprototype";
  const auto symbol = prototype ? Symbol::Kind::Prototype : Symbol::Kind::Table;
  if (!symbols_.declare(name.text, {symbol, 0, 1})) {
    return in_.error_at(name.where, "duplicate name '{}' in this scope", name.text);
  }
  if (prototype) {
    while (!in_.is(';')) {
      const TokenKind ahead = in_.peek().kind;
      if (ahead == TokenKind::End || ahead == TokenKind::Bad || in_.is('}')) {
        return in_.unexpected("';' after a prototype");
      }
      in_.take();
    }
    return in_.expect(';', "after a prototype");
  }
  std::vector<std::string>& targets = function_.branch_targets[std::string(name.text)];
  do {
    const std::string target(GPUEMU_TRY(in_.word("a target")));
    if (!in_.accept('<')) {
      targets.push_back(target);
      continue;
    }
    // L<4> stands for L0, L1, L2, L3.
    const uint32_t count = GPUEMU_TRY(in_.count_below(kVariableRangeMax + 1, "a count of labels"));
    GPUEMU_TRY(in_.expect('>', "after the count of labels"));
    for (uint32_t i = 0; i < count; ++i) targets.push_back(target + std::to_string(i));
  } while (in_.accept(','));
  if (directive == ".branchtargets") {
    pending_tables_.push_back({std::string(name.text), symbols_.current(), name.where});
  }
  return in_.expect(';', "or ',' after a target");
}

// All labels are known now, so branches get their indices.
Status FunctionParser::finish() {
  for (const Pending& pending : pending_) {
    GPUEMU_TRY(resolve(function_.body[pending.instruction], pending.scope));
  }
  for (const PendingTable& table : pending_tables_) {
    for (std::string& target : function_.branch_targets[table.name]) {
      const auto found = symbols_.find_from(target, table.scope);
      if (!found || found->kind != Symbol::Kind::Label) {
        return in_.error_at(table.where,
                            "unknown label '{}' in '{}'; expected one of this function", target,
                            table.name);
      }
      target = function_.labels[found->index].name;
    }
  }
  return {};
}

Status FunctionParser::resolve(Instruction& instruction, uint32_t scope) {
  const bool branch = instruction.opcode == Opcode::Bra;
  for (Operand& operand : instruction.operands) {
    if (operand.kind != Operand::Kind::Variable) continue;
    const auto found = symbols_.find_from(operand.name, scope);
    if (found && found->kind == Symbol::Kind::Label) {
      operand.name = function_.labels[found->index].name;
      operand.label = found->index;
      if (branch) operand.kind = Operand::Kind::Label;
    } else if (branch) {
      return in_.error_at(instruction.where,
                          "unknown label '{}'; expected one of this function and an open scope",
                          operand.name);
    }
  }
  return {};
}

}  // namespace gpuemu::ptx
