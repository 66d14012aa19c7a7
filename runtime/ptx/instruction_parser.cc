// Parses instructions and their operands.
#include <algorithm>
#include <array>
#include <bit>

#include "runtime/ptx/constant.h"
#include "runtime/ptx/function_parser.h"
#include "runtime/ptx/isa/special.h"
#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {
namespace {

Status split_opcode(const Cursor& in, const Token& token, Instruction& made) {
  std::string_view rest = token.text;
  size_t dot = rest.find('.');
  made.set_name(rest.substr(0, dot));
  made.modifiers.reserve(static_cast<size_t>(std::ranges::count(rest, '.')));
  while (dot != std::string_view::npos) {
    rest.remove_prefix(dot + 1);
    dot = rest.find('.');
    made.modifiers.add(rest.substr(0, dot));
  }
  const char first = token.text[0];
  if (first >= 'a' && first <= 'z') return {};
  return in.error_at(
      token.where, "unexpected '{}'; expected an instruction, a directive or a label", token.text);
}

}  // namespace

Status FunctionParser::instruction() {
  Instruction made;
  made.where = in_.peek().where;
  has_pending_ = false;
  if (in_.is('@')) GPUEMU_TRY(guard(made));
  if (in_.peek().kind != TokenKind::Word) return in_.unexpected("an instruction");
  const Token opcode = in_.take();
  made.where = opcode.where;
  made.source = line_;
  GPUEMU_TRY(split_opcode(in_, opcode, made));
  while (in_.peek().kind == TokenKind::Directive) {
    made.modifiers.add(in_.take().text.substr(1));
  }
  if (state_.instruction_budget-- == 0) {
    return in_.error_at(opcode.where, "more than {} instructions in a module, the limit",
                        kInstructionsMax);
  }
  if (made.opcode == Opcode::Call) {
    GPUEMU_TRY(call(made));
  } else if (!in_.is(';')) {
    made.operands.reserve(4);
    do {
      made.operands.push_back(GPUEMU_TRY(operand(0)));
    } while (in_.accept(','));
  }
  GPUEMU_TRY(in_.expect(';', "or ',' after an operand"));
  std::vector<Instruction> after;
  if (made.opcode == Opcode::Ret) GPUEMU_TRY(give_results(made));
  if (made.opcode == Opcode::Call) {
    GPUEMU_TRY(pass_arguments(made));
    after = GPUEMU_TRY(take_results(made));
  }
  if (has_pending_) pending_.push_back({function_.body.size(), symbols_.current()});
  const Instruction& call = function_.body.emplace_back(std::move(made));
  const Instruction like = after.empty() ? Instruction() : call;
  for (Instruction& one : after) GPUEMU_TRY(push(std::move(one), like));
  return {};
}

Status FunctionParser::guard(Instruction& made) {
  in_.take();
  const bool negated = in_.accept('!');
  const Token name = in_.peek();
  Operand operand = GPUEMU_TRY(named(negated));
  if (operand.kind != Operand::Kind::Register ||
      function_.registers[operand.reg].type != Type::Pred) {
    return in_.error_at(name.where, "guard '{}' is not a predicate; expected a .pred register",
                        name.text);
  }
  made.guard = std::move(operand);
  return {};
}

// call (results), callee, (arguments), prototype: only the callee is required.
Status FunctionParser::call(Instruction& made) {
  if (in_.is('(')) {
    made.call_results = GPUEMU_TRY(call_list());
    GPUEMU_TRY(in_.expect(',', "after the results of a call"));
  }
  made.operands.push_back(GPUEMU_TRY(named(false)));
  if (!in_.accept(',')) return {};
  if (in_.is('(')) {
    made.call_arguments = GPUEMU_TRY(call_list());
    if (!in_.accept(',')) return {};
  }
  const Token name = in_.peek();
  const std::string_view word = GPUEMU_TRY(in_.word("the prototype or target table of a call"));
  const auto found = symbols_.find(word);
  if (!found || (found->kind != Symbol::Kind::Prototype && found->kind != Symbol::Kind::Table)) {
    return in_.error_at(
        name.where, "unknown prototype '{}'; expected a label of .callprototype or .calltargets",
        word);
  }
  made.call_prototype = word;
  return {};
}

Result<std::vector<Operand>> FunctionParser::call_list() {
  std::vector<Operand> list;
  GPUEMU_TRY(in_.expect('(', "before a list of a call"));
  if (in_.accept(')')) return list;
  do {
    list.push_back(GPUEMU_TRY(operand(1)));
  } while (in_.accept(','));
  GPUEMU_TRY(in_.expect(')', "or ',' in a list of a call"));
  return list;
}

Result<Operand> FunctionParser::operand(uint32_t depth) {
  if (depth > kOperandDepthMax) {
    return in_.error_at(in_.peek().where, "operands nest deeper than {}, the limit",
                        kOperandDepthMax);
  }
  const Token& token = in_.peek();
  if (starts_constant(in_)) return constant();
  if (token.kind == TokenKind::Word) return named(false);
  if (in_.is('[')) return address(depth);
  if (in_.is('{')) return vector(depth);
  if (!in_.accept('!')) return in_.unexpected("an operand");
  if (in_.peek().kind == TokenKind::Word && !starts_constant(in_)) return named(true);
  Operand made = GPUEMU_TRY(constant());
  made.bits = made.bits == 0 ? 1 : 0;
  return made;
}

Result<Operand> FunctionParser::constant() {
  const Number number = GPUEMU_TRY(parse_constant(in_, "a number of at most 64 bits"));
  Operand made;
  made.bits = number.bits;
  made.float_bits = number.float_bits;
  made.kind = number.float_bits == 0 ? Operand::Kind::Integer : Operand::Kind::Float;
  return made;
}

// Parses [base], [base+4], [base+-4], [base, {x, y}] or [base, other].
Result<Operand> FunctionParser::address(uint32_t depth) {
  in_.take();
  Operand made;
  made.kind = Operand::Kind::Address;
  Operand base = GPUEMU_TRY(operand(depth + 1));
  using Kind = Operand::Kind;
  if (base.kind != Kind::Register && base.kind != Kind::Variable && base.kind != Kind::Integer) {
    return in_.error_at(in_.peek().where,
                        "this address starts with no register, variable or integer");
  }
  made.offset = base.offset;
  base.offset = 0;
  if (in_.is('+') || in_.is('-')) made.offset = GPUEMU_TRY(offset());
  made.elements.push_back(std::move(base));
  while (in_.accept(',')) made.elements.push_back(GPUEMU_TRY(operand(depth + 1)));
  GPUEMU_TRY(in_.expect(']', "after an address"));
  return made;
}

Result<Operand> FunctionParser::vector(uint32_t depth) {
  in_.take();
  Operand made;
  made.kind = Operand::Kind::Vector;
  do {
    made.elements.push_back(GPUEMU_TRY(operand(depth + 1)));
  } while (in_.accept(','));
  GPUEMU_TRY(in_.expect('}', "or ',' in a vector operand"));
  return in_.accept('|') ? pair_with(std::move(made)) : made;
}

Result<int64_t> FunctionParser::offset() {
  if (in_.is('+')) in_.take();
  return std::bit_cast<int64_t>(GPUEMU_TRY(in_.constant("an offset in bytes")));
}

// Parses [i] or [i][j] after an array of this function. Returns the byte offset of the element.
Result<int64_t> FunctionParser::subscripts(const Token& name) {
  const auto found = symbols_.find(name.text);
  if (!found || found->kind != Symbol::Kind::Variable) {
    return in_.error_at(in_.peek().where, "'[' behind '{}'; expected an array of this function",
                        name.text);
  }
  const Variable& array = function_.variables[found->index];
  int64_t element = 0;
  for (size_t i = 0; in_.accept('['); ++i) {
    const auto size = i < array.dims.size() ? static_cast<int64_t>(array.dims[i]) : int64_t{1};
    element = element * size + std::bit_cast<int64_t>(GPUEMU_TRY(in_.constant("an index")));
    GPUEMU_TRY(in_.expect(']', "after an index"));
  }
  return element * int64_t{byte_size(array.type)};
}

// Parses a name, name+offset, name[index] or the pair p|q.
Result<Operand> FunctionParser::named(bool negated) {
  if (in_.peek().kind != TokenKind::Word) return in_.unexpected("a name");
  const Token name = in_.take();
  Operand made = GPUEMU_TRY(symbol(name));
  if (negated) {
    if (made.kind != Operand::Kind::Register) {
      return in_.error_at(name.where, "'!' before '{}'; expected a .pred register", name.text);
    }
    made.negated = true;
  }
  if (made.kind == Operand::Kind::Variable && (in_.is('+') || in_.is('-'))) {
    made.offset = GPUEMU_TRY(offset());
  } else if (made.kind == Operand::Kind::Variable && in_.is('[')) {
    made.offset = GPUEMU_TRY(subscripts(name));
  }
  if (!in_.accept('|')) return made;
  return pair_with(std::move(made));
}

// Parses the q of p|q.
Result<Operand> FunctionParser::pair_with(Operand first) {
  if (in_.peek().kind != TokenKind::Word) return in_.unexpected("a register after '|'");
  Operand pair;
  pair.kind = Operand::Kind::PredPair;
  pair.elements.push_back(std::move(first));
  const Token second = in_.take();
  pair.elements.push_back(GPUEMU_TRY(symbol(second)));
  return pair;
}

Operand FunctionParser::register_operand(std::string_view name, uint32_t index) const {
  Operand made;
  made.kind = Operand::Kind::Register;
  made.reg = index;
  const std::string& declared = function_.registers[index].name;
  // A selector, as in %r1.b0, is kept in the name.
  made.name = name.size() > declared.size() ? name : std::string_view(declared);
  return made;
}

Result<Operand> FunctionParser::symbol(const Token& name) {
  Operand made;
  if (name.text == "_") return made;
  const auto found = symbols_.find(name.text);
  if (!found) return undeclared(name);
  switch (found->kind) {
    case Symbol::Kind::Register:
      return register_operand({}, found->index);
    case Symbol::Kind::VectorRegister:
      made.kind = Operand::Kind::Vector;
      for (uint32_t i = 0; i < found->count; ++i) {
        made.elements.push_back(register_operand({}, found->index + i));
      }
      return made;
    case Symbol::Kind::Variable:
      made.name = function_.variables[found->index].name;
      break;
    case Symbol::Kind::Label:
      has_pending_ = true;
      [[fallthrough]];
    case Symbol::Kind::Param:
    case Symbol::Kind::Table:
    case Symbol::Kind::Prototype:
      made.name = name.text;
      break;
  }
  made.kind = Operand::Kind::Variable;
  return made;
}

// Handles special registers, constants and parts of registers; any other name may be declared
// later.
Result<Operand> FunctionParser::undeclared(const Token& name) {
  Operand made;
  if (is_special_register(name.text)) {
    made.kind = Operand::Kind::Special;
    made.name = name.text;
    return made;
  }
  const size_t dot = name.text.rfind('.');
  const auto whole = symbols_.find(name.text.substr(0, dot));
  if (dot != std::string_view::npos && whole && whole->kind == Symbol::Kind::Register) {
    return register_operand(name.text, whole->index);
  }
  if (name.text[0] == '%') {
    const std::string range = symbols_.nearest_range(name.text);
    if (!range.empty()) {
      return in_.error_at(name.where, "unknown register '{}'; the declaration here is {}",
                          name.text, range);
    }
    return in_.error_at(name.where,
                        "unknown register '{}'; expected one that .reg declares in this scope",
                        name.text);
  }
  has_pending_ = true;
  made.kind = Operand::Kind::Variable;
  made.name = name.text;
  return made;
}

}  // namespace gpuemu::ptx
