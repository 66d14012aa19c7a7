// Evaluates predicates.
#include <algorithm>

#include "judge/inbounds/evaluator.h"
#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

struct Sides {
  Alternatives yes, no;  ///< Empty: nothing is known.
};

Alternatives one(std::vector<Polynomial> facts) { return {Assumption{std::move(facts), {}}}; }

/// Returns the alternatives of a disjunction; nothing is known if one side is unknown or there are
/// too many.
Alternatives either(const Alternatives& a, const Alternatives& b) {
  if (a.empty() || b.empty() || a.size() + b.size() > kAlternativesMax) return {};
  Alternatives all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Alternatives both(const Alternatives& a, const Alternatives& b) {
  if (a.empty()) return b;
  if (b.empty() || a.size() * b.size() > kAlternativesMax) return a;
  Alternatives all;
  for (const Assumption& left : a) {
    for (const Assumption& right : b) {
      Assumption joined = left;
      joined.facts.insert(joined.facts.end(), right.facts.begin(), right.facts.end());
      joined.unequal.insert(joined.unequal.end(), right.unequal.begin(), right.unequal.end());
      all.push_back(std::move(joined));
    }
  }
  return all;
}

Sides join(Opcode how, const Sides& a, const Sides& b) {
  if (how == Opcode::And) return {both(a.yes, b.yes), either(a.no, b.no)};
  if (how == Opcode::Or) return {either(a.yes, b.yes), both(a.no, b.no)};
  return {};
}

/// Handles a < b and similar comparisons of the numbers themselves.
Sides ordered(const std::string& how, const Polynomial& a, const Polynomial& b) {
  if (how == "lt" || how == "lo") return {one({b - a - Polynomial(1)}), one({a - b})};
  if (how == "le" || how == "ls") return {one({b - a}), one({a - b - Polynomial(1)})};
  if (how == "gt" || how == "hi") return {one({a - b - Polynomial(1)}), one({b - a})};
  if (how == "ge" || how == "hs") return {one({a - b}), one({b - a - Polynomial(1)})};
  return {};
}

}  // namespace

void Evaluator::compare(uint32_t at) {
  const ptx::Instruction& instruction = function_.body[at];
  const size_t count = instruction.modifiers.size();
  const Type type = ptx::type_from_name(instruction.modifiers[count - 1]).value_or(Type::None);
  const std::string& how = instruction.modifiers[0];
  const bool whole = type >= Type::B16 && type <= Type::S64 && type != Type::B128;
  Sides sides;
  if (whole && instruction.operands.size() >= 3) {
    const bool is_signed = type >= Type::S8 && type <= Type::S64;
    const Integer integer{ptx::byte_size(type) * 8, is_signed};
    const Polynomial a = operand(at, 1, integer);
    const Polynomial b = operand(at, 2, integer);
    const auto left = exact(at, a, integer, 1);
    const auto right = exact(at, b, integer, 2);
    const bool equality = how == "eq" || how == "ne";
    if (left && right && !equality) sides = ordered(how, *left, *right);
    if (equality && !a.is_broken() && !b.is_broken()) {
      // Registers that differ hold numbers that differ, even if upper bits were cut off.
      const Alternatives differ = {Assumption{{}, {left && right ? *left - *right : a - b}}};
      Alternatives same;
      if (left && right) same = one({*left - *right, *right - *left});
      sides = how == "eq" ? Sides{same, differ} : Sides{differ, same};
    }
  }
  // Form: setp.lt.and.s32 %p, a, b, %q
  const bool joined = instruction.operands.size() == 4;
  if (joined) {
    const Operand& other = instruction.operands[3];
    Sides second;
    if (other.kind == Operand::Kind::Register) {
      const Value& value = value_of(ssa_.read(at, other.reg));
      second = {value.when_true, value.when_false};
      if (other.negated) std::swap(second.yes, second.no);
    }
    // The joining modifier is spelled like the instruction that does the same.
    sides = join(ptx::opcode_of(instruction.modifiers[1]), sides, second);
  }
  // The second result of %p|%q is the negation only if nothing is joined; otherwise it is unknown.
  const Operand& to = instruction.operands[0];
  const Operand& first = to.kind == Operand::Kind::PredPair ? to.elements[0] : to;
  if (first.kind != Operand::Kind::Register) return;
  const ValueId value = ssa_.assigned(at, first.reg);
  values_[static_cast<size_t>(value)].when_true = sides.yes;
  values_[static_cast<size_t>(value)].when_false = sides.no;
}

void Evaluator::combine_predicates(uint32_t at) {
  const ptx::Instruction& instruction = function_.body[at];
  const Operand& to = instruction.operands[0];
  if (to.kind != Operand::Kind::Register || !instruction.has(ptx::Modifier::Pred)) return;
  const auto sides_of = [&](size_t index) {
    Sides sides;
    if (index >= instruction.operands.size()) return sides;
    const Operand& from = instruction.operands[index];
    if (from.kind != Operand::Kind::Register) return sides;
    const Value& value = value_of(ssa_.read(at, from.reg));
    sides = {value.when_true, value.when_false};
    if (from.negated) std::swap(sides.yes, sides.no);
    return sides;
  };
  Sides result;
  const Sides first = sides_of(1);
  if (instruction.opcode == Opcode::Not) result = {first.no, first.yes};
  if (instruction.opcode == Opcode::Mov) result = first;
  if (instruction.opcode == Opcode::And || instruction.opcode == Opcode::Or) {
    result = join(instruction.opcode, first, sides_of(2));
  }
  Value& value = values_[static_cast<size_t>(ssa_.assigned(at, to.reg))];
  value.when_true = result.yes;
  value.when_false = result.no;
}

}  // namespace gpuemu::inbounds
