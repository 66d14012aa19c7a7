// Computes the results of single instructions as polynomials.
#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "judge/inbounds/evaluator.h"

namespace gpuemu::inbounds {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Trait;
using ptx::Type;

bool is_whole(Type type) { return type >= Type::B8 && type <= Type::S64 && type != Type::B128; }
bool is_signed(Type type) { return type >= Type::S8 && type <= Type::S64; }

/// Returns the last type among the modifiers, or the one `back` places before it; None if it is not
/// a type.
Type type_of(const Instruction& instruction, size_t back = 0) {
  if (instruction.modifiers.size() <= back) return Type::None;
  const std::string& name = instruction.modifiers[instruction.modifiers.size() - 1 - back];
  return ptx::type_from_name(name).value_or(Type::None);
}

/// Interprets `bits` bits as a two's complement number.
int64_t as_number(uint64_t pattern, uint32_t bits) {
  if (bits >= 64) return static_cast<int64_t>(pattern);
  const uint64_t kept = pattern & ((uint64_t{1} << bits) - 1);
  const bool negative = ((kept >> (bits - 1)) & 1) != 0;
  return static_cast<int64_t>(kept) - (negative ? int64_t{1} << bits : 0);
}

constexpr uint32_t kShiftMost = 61;  // The largest power of two among the coefficients.

/// Returns the amount of a shift by a constant; nothing for other shifts.
std::optional<uint32_t> amount_of(const Polynomial& poly, uint32_t bits) {
  const auto number = poly.constant();
  if (!number || *number < 0 || *number >= bits || *number > kShiftMost) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

}  // namespace

Polynomial Evaluator::special(const std::string& name) const {
  const size_t dot = name.find('.');
  if (dot == std::string::npos || dot + 2 != name.size()) return Polynomial::broken();
  const size_t axis = static_cast<size_t>(name[dot + 1] - 'x');
  if (axis > 2) return Polynomial::broken();
  const std::string base = name.substr(0, dot);
  if (base == "%tid") return space_.thread_index[axis];
  if (base == "%ctaid") return space_.block_index[axis];
  if (base == "%ntid") return space_.block[axis];
  if (base == "%nctaid") return space_.grid[axis];
  return Polynomial::broken();
}

Polynomial Evaluator::window_of(ptx::Space space) {
  if (space == ptx::Space::Global) return {};
  const auto name = fmt::format("window{}", static_cast<int>(space));
  if (!named_.contains(name)) named_[name] = space_.symbols.add({.name = name});
  return Polynomial::symbol(named_.at(name));
}

Polynomial Evaluator::address_of(const std::string& name) {
  const auto known = variables_.find(name);
  if (known != variables_.end()) return known->second;
  const ptx::Variable* found = nullptr;
  for (const auto* all : {&function_.variables, &module_.variables}) {
    for (const ptx::Variable& one : *all) {
      if (one.name == name && found == nullptr) found = &one;
    }
  }
  if (found == nullptr) return Polynomial::broken();
  Region region{name, found->space, Polynomial(static_cast<int64_t>(found->bytes))};
  const bool dynamic = found->bytes == 0 && found->space == ptx::Space::Shared;
  if (dynamic) region.bytes = space_.shared_bytes;
  if (found->bytes == 0 && !dynamic) region.bytes = Polynomial::broken();
  return variables_[name] = space_.add_region(std::move(region));
}

Polynomial Evaluator::operand(uint32_t at, size_t index, Integer type) const {
  const Instruction& instruction = function_.body[at];
  if (index >= instruction.operands.size()) return Polynomial::broken();
  const Operand& operand = instruction.operands[index];
  switch (operand.kind) {
    case Operand::Kind::Register:
      return operand.negated ? Polynomial::broken() : value_of(ssa_.read(at, operand.reg)).poly;
    case Operand::Kind::Integer:
      return Polynomial(as_number(operand.bits, type.bits));
    case Operand::Kind::Special:
      return special(operand.name);
    default:
      return Polynomial::broken();
  }
}

Interval Evaluator::range_of_result(uint32_t at, uint32_t reg) const {
  const Instruction& instruction = function_.body[at];
  const Opcode opcode = instruction.opcode;
  const bool counts = opcode == Opcode::Popc || opcode == Opcode::Clz;
  if (counts) return {0, 64};
  Type type = type_of(instruction);
  const Type own = function_.registers[reg].type;
  // Loads widen numbers; for other instructions the last type may be that of an operand or element.
  const bool loads = instruction.has(Trait::Reads) && !instruction.has(Trait::Writes);
  if (opcode == Opcode::Cvt || !is_whole(type)) type = own;
  uint32_t bits = ptx::byte_size(own) * 8;
  if (loads) bits = std::min(bits, ptx::byte_size(type) * 8);
  if (opcode == Opcode::Mov && instruction.operands.size() > 1 &&
      instruction.operands[1].kind == Operand::Kind::Special) {
    const std::string& name = instruction.operands[1].name;
    if (name == "%laneid") return {0, 31};
    if (name == "%warpid") return {0, 63};
  }
  if (!is_whole(type) || bits == 0 || bits >= 64) return {};
  const int64_t count = int64_t{1} << bits;
  // The result may be twice as wide.
  if (opcode == Opcode::Mul || opcode == Opcode::Mad) return {};
  // Narrow signed numbers are widened by their load; other bits may be read either way.
  if (is_signed(type)) return {-count / 2, count / 2 - 1};
  return {0, count - 1};
}

std::optional<Polynomial> Evaluator::loaded_param(uint32_t at) {
  const Instruction& instruction = function_.body[at];
  const Type type = type_of(instruction);
  if (!is_whole(type) || instruction.operands.size() < 2) return std::nullopt;
  const Operand& from = instruction.operands[1];
  if (from.kind != Operand::Kind::Address || from.offset != 0 || from.elements.empty() ||
      from.elements[0].kind != Operand::Kind::Variable || from.elements[0].offset != 0) {
    return std::nullopt;
  }
  const auto param =
      std::ranges::find(function_.params, from.elements[0].name, &ptx::Variable::name);
  const auto index = static_cast<size_t>(param - function_.params.begin());
  if (param == function_.params.end() || index >= space_.params.size()) return std::nullopt;
  const uint32_t bits = ptx::byte_size(type) * 8;
  if (ptx::byte_size(type) > param->bytes) return std::nullopt;
  const uint32_t own = ptx::byte_size(function_.registers[instruction.operands[0].reg].type) * 8;
  if (own <= bits) return space_.params[index];
  return exact(at, space_.params[index], {bits, is_signed(type)}, 1);
}

std::optional<Polynomial> Evaluator::moved(uint32_t at, Integer type) {
  const Operand& from = function_.body[at].operands[1];
  if (from.kind == Operand::Kind::Variable) return address_of(from.name) + Polynomial(from.offset);
  return operand(at, 1, type);
}

std::optional<Polynomial> Evaluator::converted(uint32_t at) {
  const Instruction& instruction = function_.body[at];
  if (instruction.opcode == Opcode::Cvta) {
    const Polynomial from =
        instruction.operands[1].kind == Operand::Kind::Variable
            ? address_of(instruction.operands[1].name) + Polynomial(instruction.operands[1].offset)
            : operand(at, 1, {64, false});
    ptx::Space space = ptx::Space::Generic;
    if (instruction.has(ptx::Modifier::Global)) space = ptx::Space::Global;
    if (instruction.has(ptx::Modifier::Shared)) space = ptx::Space::Shared;
    if (instruction.has(ptx::Modifier::Local)) space = ptx::Space::Local;
    if (space == ptx::Space::Generic) return std::nullopt;
    return instruction.has(ptx::Modifier::To) ? from - window_of(space) : from + window_of(space);
  }
  const Type to = type_of(instruction, 1);
  const Type from = type_of(instruction);
  const bool plain = instruction.modifiers.size() == 2 && is_whole(to) && is_whole(from);
  if (!plain) return std::nullopt;
  const uint32_t from_bits = ptx::byte_size(from) * 8;
  const Polynomial value = operand(at, 1, {from_bits, is_signed(from)});
  // If the register is wider than the target type, the result is extended once more.
  const uint32_t own = ptx::byte_size(function_.registers[instruction.operands[0].reg].type) * 8;
  const uint32_t to_bits = ptx::byte_size(to) * 8;
  Polynomial result = value;
  if (to_bits > from_bits || (own > to_bits && to_bits == from_bits)) {
    const auto number = exact(at, value, {from_bits, is_signed(from)}, 1);
    if (!number) return std::nullopt;
    result = *number;
  }
  if (own > to_bits) {
    const auto number = exact(at, result, {to_bits, is_signed(to)}, 2);
    if (!number) return std::nullopt;
    result = *number;
  }
  return result;
}

std::optional<Polynomial> Evaluator::arithmetic(uint32_t at, Integer type) {
  const Instruction& instruction = function_.body[at];
  const Opcode opcode = instruction.opcode;
  const Polynomial a = operand(at, 1, type);
  if (opcode == Opcode::Neg) return Polynomial(-1) * a;
  if (opcode == Opcode::Not) return Polynomial(-1) - a;
  const Polynomial b = operand(at, 2, type);
  // Plain operations wrap, as congruence of polynomials allows; saturating ones and carries do not.
  if (opcode == Opcode::Add || opcode == Opcode::Sub) {
    if (instruction.modifiers.size() != 1) return std::nullopt;
    return opcode == Opcode::Add ? a + b : a - b;
  }
  const auto left = exact(at, a, type, 1);
  const auto right = exact(at, b, type, 2);
  if (!left || !right || instruction.modifiers.size() != 1) return std::nullopt;
  return space_.symbols.extreme_of(*left, *right, opcode == Opcode::Max);
}

std::optional<Polynomial> Evaluator::product(uint32_t at, Integer type) {
  const Instruction& instruction = function_.body[at];
  Polynomial a = operand(at, 1, type);
  Polynomial b = operand(at, 2, type);
  const bool wide = instruction.has(ptx::Modifier::Wide);
  if (!wide && !instruction.has(ptx::Modifier::Lo) && !instruction.has(ptx::Modifier::Hi)) {
    return std::nullopt;
  }
  if (!instruction.has(ptx::Modifier::Lo)) {
    const auto left = exact(at, a, type, 1);
    const auto right = exact(at, b, type, 2);
    if (!left || !right) return std::nullopt;
    a = *left;
    b = *right;
  }
  Polynomial result = a * b;
  if (instruction.has(ptx::Modifier::Hi)) {
    if (type.bits > 32) return std::nullopt;
    result = space_.symbols.floor_of(result, int64_t{1} << type.bits);
  }
  if (instruction.opcode == Opcode::Mul) return result;
  if (instruction.modifiers.size() != 2) return std::nullopt;
  return result + operand(at, 3, {wide ? type.bits * 2 : type.bits, type.is_signed});
}

std::optional<Polynomial> Evaluator::quotient(uint32_t at, Integer type) {
  const auto a = exact(at, operand(at, 1, type), type, 1);
  const auto b = exact(at, operand(at, 2, type), type, 2);
  if (!a || !b) return std::nullopt;
  // '/' truncates, which equals rounding down for non-negative numbers.
  const Known known = known_at(at);
  if (!prover_.holds(*b - Polynomial(1), known)) return std::nullopt;
  if (type.is_signed && !prover_.holds(*a, known)) {
    const std::string key = fmt::format("{}/sign", at);
    if (!trusting_ || denied_.contains(key)) return std::nullopt;
    duties_.push_back({key, known, {*a}});
  }
  const Polynomial down = space_.symbols.quotient_of(*a, *b);
  return function_.body[at].opcode == Opcode::Div ? down : *a - *b * down;
}

std::optional<Polynomial> Evaluator::shifted(uint32_t at, Integer type) {
  const Instruction& instruction = function_.body[at];
  const Polynomial a = operand(at, 1, type);
  const Polynomial b = operand(at, 2, {32, false});
  const auto amount = amount_of(b, type.bits);
  if (!amount) return std::nullopt;
  const int64_t factor = int64_t{1} << *amount;
  if (instruction.opcode == Opcode::Shl) return a * Polynomial(factor);
  // Logical, unless the type is signed.
  const auto number = exact(at, a, type, 1);
  if (number && !type.is_signed) return space_.symbols.quotient_of(*number, Polynomial(factor));
  if (number) return space_.symbols.floor_of(*number, factor);
  if (type.is_signed || type.bits > 32 || a.is_broken()) return std::nullopt;
  // Even if bits were lost above: bits `amount` to 31 of the sum.
  return space_.symbols.modulo(space_.symbols.floor_of(a, factor),
                               int64_t{1} << (type.bits - *amount));
}

// Bits of a two's complement number below a power of two do not depend on those above it.
std::optional<Polynomial> Evaluator::bits_kept(const Polynomial& poly, uint64_t mask) {
  if (poly.is_broken() || mask == 0) return std::nullopt;
  const int low = std::countr_zero(mask);
  const uint64_t run = mask >> low;
  if ((run & (run + 1)) != 0) return std::nullopt;
  const int high = low + std::popcount(run);
  if (high > static_cast<int>(kShiftMost)) return std::nullopt;
  const Polynomial upper = space_.symbols.modulo(poly, int64_t{1} << high);
  return low == 0 ? upper : upper - space_.symbols.modulo(poly, int64_t{1} << low);
}

std::optional<Polynomial> Evaluator::masked(uint32_t at, Integer type) {
  const Instruction& instruction = function_.body[at];
  const Opcode opcode = instruction.opcode;
  Polynomial a = operand(at, 1, type);
  Polynomial b = operand(at, 2, type);
  if (a.constant() && opcode != Opcode::Bfe) std::swap(a, b);
  const auto number = b.constant();
  if (opcode == Opcode::Bfe) {
    const auto from = amount_of(b, type.bits);
    const auto count = amount_of(operand(at, 3, {32, false}), type.bits + 1);
    if (type.is_signed || !from || !count || *count == 0 || *from + *count > type.bits ||
        a.is_broken()) {
      return std::nullopt;
    }
    return space_.symbols.modulo(space_.symbols.floor_of(a, int64_t{1} << *from),
                                 int64_t{1} << *count);
  }
  if (opcode == Opcode::And && number) {
    const auto pattern = static_cast<uint64_t>(*number);
    // ~0 << m rounds down to a multiple.
    if (*number < 0 && std::has_single_bit(uint64_t{0} - pattern)) {
      const uint64_t unit = uint64_t{0} - pattern;
      if (unit > uint64_t{1} << kShiftMost) return std::nullopt;
      return a - space_.symbols.modulo(a, static_cast<int64_t>(unit));
    }
    const uint64_t mask = type.bits < 64 ? pattern & ((uint64_t{1} << type.bits) - 1) : pattern;
    if (const auto kept = bits_kept(a, mask)) return kept;
    if (*number < 0) return std::nullopt;
    const auto home = static_cast<int32_t>(flow_.control.block_of[at]);
    return unknown(fmt::format("and@{}", at), home, {0, *number}, "");
  }
  if (opcode == Opcode::Or && !a.is_broken() && !b.is_broken()) {
    // Bits that do not overlap can be added.
    for (const auto& [upper, lower] : {std::pair(a, b), std::pair(b, a)}) {
      uint32_t bits = 0;
      while (bits + 1 < type.bits && bits < kShiftMost &&
             upper.split_by(int64_t{2} << bits).second.is_zero()) {
        ++bits;
      }
      if (prover_.holds_between(lower, {0, (int64_t{1} << bits) - 1}, known_at(at))) {
        return upper + lower;
      }
    }
  }
  // Bits that neither operand has are in no result of `or`, `xor` and `and`.
  const Interval left = space_.symbols.interval(a);
  const Interval right = space_.symbols.interval(b);
  if (left.low < 0 || right.low < 0 || !left.has_high() || !right.has_high()) return std::nullopt;
  const auto most = std::bit_ceil(static_cast<uint64_t>(std::max(left.high, right.high)) + 1);
  if (most > uint64_t{1} << kShiftMost) return std::nullopt;
  const auto home = static_cast<int32_t>(flow_.control.block_of[at]);
  return unknown(fmt::format("{}@{}", instruction.name(), at), home,
                 {0, static_cast<int64_t>(most) - 1}, "");
}

std::optional<Polynomial> Evaluator::selected(uint32_t at, Integer type) {
  const Instruction& instruction = function_.body[at];
  if (instruction.operands.size() != 4) return std::nullopt;
  const Operand& by = instruction.operands[3];
  if (by.kind != Operand::Kind::Register) return std::nullopt;
  const Value& condition = value_of(ssa_.read(at, by.reg));
  const auto one = [](const Alternatives& all) { return all.size() == 1 ? all[0] : Assumption(); };
  Alternatives ways = {one(condition.when_true), one(condition.when_false)};
  if (by.negated) std::swap(ways[0], ways[1]);
  const auto home = static_cast<int32_t>(flow_.control.block_of[at]);
  return choice(fmt::format("selp@{}", at), home, ways,
                {operand(at, 1, type), operand(at, 2, type)});
}

std::optional<Polynomial> Evaluator::compute(uint32_t at) {
  const Instruction& instruction = function_.body[at];
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::Ld && instruction.has(ptx::Modifier::Param)) return loaded_param(at);
  if (opcode == Opcode::Cvt || opcode == Opcode::Cvta) return converted(at);
  const Type type = type_of(instruction);
  if (!is_whole(type) || instruction.operands.size() < 2) return std::nullopt;
  const Integer integer{ptx::byte_size(type) * 8, is_signed(type)};
  using Meaning = std::optional<Polynomial> (Evaluator::*)(uint32_t, Integer);
  static constexpr ptx::PerOpcode<Meaning> kMeanings({
      {Opcode::Add, &Evaluator::arithmetic},
      {Opcode::Sub, &Evaluator::arithmetic},
      {Opcode::Neg, &Evaluator::arithmetic},
      {Opcode::Not, &Evaluator::arithmetic},
      {Opcode::Min, &Evaluator::arithmetic},
      {Opcode::Max, &Evaluator::arithmetic},
      {Opcode::Mul, &Evaluator::product},
      {Opcode::Mad, &Evaluator::product},
      {Opcode::Div, &Evaluator::quotient},
      {Opcode::Rem, &Evaluator::quotient},
      {Opcode::Shl, &Evaluator::shifted},
      {Opcode::Shr, &Evaluator::shifted},
      {Opcode::And, &Evaluator::masked},
      {Opcode::Or, &Evaluator::masked},
      {Opcode::Xor, &Evaluator::masked},
      {Opcode::Bfe, &Evaluator::masked},
      {Opcode::Selp, &Evaluator::selected},
      {Opcode::Mov, &Evaluator::moved},
  });
  const Meaning* const meaning = kMeanings.find(opcode);
  return meaning == nullptr ? std::nullopt : (this->**meaning)(at, integer);
}

}  // namespace gpuemu::inbounds
