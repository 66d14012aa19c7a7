#include "judge/metrics/size_predicates.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gpuemu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

/// Sizes for which every predicate is evaluated: several periods of any tile, within a millisecond.
constexpr int64_t kSizesTried = 2100;
/// A predicate that is true for more than one in this many sizes needs no case of its own.
constexpr size_t kCommonFrom = 12;
constexpr int64_t kLargestConstant = 1 << 20;
constexpr size_t kSizesOfClass = 6, kClassesMax = 16;
/// Smaller sizes occur often enough anyway, and unrolled loops compare with many of them.
constexpr int64_t kThresholdFrom = 8;
/// Limit of the instructions that one value is derived from.
constexpr int kDepthMax = 64;

struct IntegerType {
  uint32_t bits = 0;
  bool is_signed = false;
};

std::optional<IntegerType> integer_type(const std::string& modifier) {
  if (modifier.size() < 2 || modifier.size() > 3) return std::nullopt;
  const char kind = modifier[0];
  if (kind != 's' && kind != 'u' && kind != 'b') return std::nullopt;
  for (const uint32_t bits : {8U, 16U, 32U, 64U}) {
    if (modifier.substr(1) == std::to_string(bits)) return IntegerType{bits, kind == 's'};
  }
  return std::nullopt;
}

/// Returns the trailing types of the instruction, in written order.
std::vector<IntegerType> types_of(const Instruction& instruction) {
  std::vector<IntegerType> types;
  for (const std::string& modifier : instruction.modifiers) {
    if (const auto type = integer_type(modifier)) types.push_back(*type);
  }
  return types;
}

/// Returns the low bits, extended to 64 bits as the type requires.
int64_t as_type(uint64_t value, IntegerType type) {
  if (type.bits == 64) return std::bit_cast<int64_t>(value);
  const uint64_t low = value & ((uint64_t{1} << type.bits) - 1);
  const bool negative = type.is_signed && (low >> (type.bits - 1)) != 0;
  return std::bit_cast<int64_t>(negative ? low | ~((uint64_t{1} << type.bits) - 1) : low);
}

uint64_t bits(int64_t value) { return std::bit_cast<uint64_t>(value); }
int64_t number(uint64_t bits) { return std::bit_cast<int64_t>(bits); }

/// An instruction and its operands, extended to 64 bits from the type `from`.
struct Given {
  const Instruction& instruction;
  IntegerType from;
  const std::vector<int64_t>& values;

  bool less() const {
    const int64_t a = values[0], b = values[1];
    return from.is_signed ? a < b : bits(a) < bits(b);
  }
};
using Computed = std::optional<int64_t>;

Computed compared(const Given& given) {
  if (given.values.size() != 2) return std::nullopt;
  const bool less = given.less(), equal = given.values[0] == given.values[1];
  for (const auto& [condition, holds] : {std::pair{ptx::Modifier::Eq, equal},
                                         {ptx::Modifier::Ne, !equal},
                                         {ptx::Modifier::Lt, less},
                                         {ptx::Modifier::Lo, less},
                                         {ptx::Modifier::Le, less || equal},
                                         {ptx::Modifier::Ls, less || equal},
                                         {ptx::Modifier::Gt, !less && !equal},
                                         {ptx::Modifier::Hi, !less && !equal},
                                         {ptx::Modifier::Ge, !less},
                                         {ptx::Modifier::Hs, !less}}) {
    if (given.instruction.has(condition)) return holds ? 1 : 0;
  }
  return std::nullopt;
}

Computed divided(const Given& given) {
  const int64_t a = given.values[0], b = given.values[1];
  if (b == 0 || b == -1) return std::nullopt;
  const bool rest = given.instruction.opcode == Opcode::Rem;
  if (given.from.is_signed) return rest ? a % b : a / b;
  return number(rest ? bits(a) % bits(b) : bits(a) / bits(b));
}

/// The upper half of a 64-bit product is not computed.
Computed multiplied(const Given& given) {
  const IntegerType type = given.from;
  const uint64_t low = bits(given.values[0]) * bits(given.values[1]);
  if (!given.instruction.has(ptx::Modifier::Hi)) return number(low);
  if (type.bits > 32) return std::nullopt;
  return type.is_signed ? number(low) >> type.bits : number(low >> type.bits);
}

Computed multiplied_and_added(const Given& given) {
  const Computed product = multiplied(given);
  if (!product || given.values.size() != 3) return std::nullopt;
  return number(bits(*product) + bits(given.values[2]));
}

Computed shifted(const Given& given) {
  const IntegerType type = given.from;
  const int64_t a = given.values[0];
  const uint64_t by = bits(given.values[1]) & 0xffffffff;
  if (given.instruction.opcode == Opcode::Shl) return by >= type.bits ? 0 : number(bits(a) << by);
  if (type.is_signed) return a >> std::min<uint64_t>(by, type.bits - 1);
  return by >= type.bits ? 0 : number(bits(a) >> by);
}

Computed moved(const Given& given) { return given.values[0]; }

struct Operation {
  size_t operands = 0;  ///< Minimum, besides the result.
  Computed (*compute)(const Given&) = nullptr;
};
constexpr ptx::PerOpcode<Operation> kOperations({
    {Opcode::Mov, {1, moved}},
    {Opcode::Cvt, {1, moved}},
    {Opcode::Not, {1, [](const Given& given) -> Computed { return ~given.values[0]; }}},
    {Opcode::Neg,
     {1, [](const Given& given) -> Computed { return number(0 - bits(given.values[0])); }}},
    {Opcode::Abs,
     {1,
      [](const Given& given) -> Computed {
        const int64_t a = given.values[0];
        return a < 0 ? number(0 - bits(a)) : a;
      }}},
    {Opcode::Add,
     {2,
      [](const Given& given) -> Computed {
        return number(bits(given.values[0]) + bits(given.values[1]));
      }}},
    {Opcode::Sub,
     {2,
      [](const Given& given) -> Computed {
        return number(bits(given.values[0]) - bits(given.values[1]));
      }}},
    {Opcode::And,
     {2, [](const Given& given) -> Computed { return given.values[0] & given.values[1]; }}},
    {Opcode::Or,
     {2, [](const Given& given) -> Computed { return given.values[0] | given.values[1]; }}},
    {Opcode::Xor,
     {2, [](const Given& given) -> Computed { return given.values[0] ^ given.values[1]; }}},
    {Opcode::Min,
     {2, [](const Given& given) -> Computed { return given.values[given.less() ? 0 : 1]; }}},
    {Opcode::Max,
     {2, [](const Given& given) -> Computed { return given.values[given.less() ? 1 : 0]; }}},
    {Opcode::Rem, {2, divided}},
    {Opcode::Div, {2, divided}},
    {Opcode::Shl, {2, shifted}},
    {Opcode::Shr, {2, shifted}},
    {Opcode::Mul, {2, multiplied}},
    {Opcode::Mad, {2, multiplied_and_added}},
    {Opcode::Selp,
     {3,
      [](const Given& given) -> Computed { return given.values[given.values[2] != 0 ? 0 : 1]; }}},
    {Opcode::Setp, {2, compared}},
});

/// Returns whether operand `index` after the result has another type than the operation: shift
/// amounts always have 32 bits, and the addend of mad.wide is twice as wide.
bool is_of_another_type(const Instruction& instruction, size_t index) {
  if (instruction.opcode == Opcode::Selp) return index == 2;
  if (instruction.opcode == Opcode::Shl || instruction.opcode == Opcode::Shr) return index == 1;
  return instruction.opcode == Opcode::Mad && index == 2 && instruction.has(ptx::Modifier::Wide);
}

Computed of_predicates(const Instruction& instruction, const std::vector<int64_t>& given) {
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::Mov) return given[0];
  if (opcode == Opcode::Not) return given[0] == 0 ? 1 : 0;
  if (given.size() < 2) return std::nullopt;
  if (opcode == Opcode::And) return given[0] & given[1];
  if (opcode == Opcode::Or) return given[0] | given[1];
  if (opcode == Opcode::Xor) return given[0] ^ given[1];
  return std::nullopt;
}

/// Evaluates values that depend on one parameter.
class Evaluator {
 public:
  Evaluator(const Function& function, uint32_t block)
      : block_(block), definitions_(function.registers.size()) {
    for (const Instruction& instruction : function.body) {
      if (!instruction.operands.empty()) define(instruction.operands[0], instruction);
      for (const Operand& result : instruction.call_results) define(result, instruction);
    }
  }

  /// Returns the parameters that a value depends on; nothing if it depends on something else too.
  std::optional<std::set<std::string>> parameters(const Operand& operand, int depth = 0) const {
    if (operand.kind == Operand::Kind::Integer) return std::set<std::string>();
    if (operand.kind == Operand::Kind::Special && operand.name == "%ntid.x" && block_ > 0) {
      return std::set<std::string>();
    }
    const Instruction* from = definition(operand);
    if (from == nullptr || depth > kDepthMax) return std::nullopt;
    if (const auto name = parameter_of(*from)) return std::set{*name};
    if (kOperations.find(from->opcode) == nullptr) return std::nullopt;
    std::set<std::string> names;
    for (size_t i = 1; i < from->operands.size(); ++i) {
      const auto more = parameters(from->operands[i], depth + 1);
      if (!more) return std::nullopt;
      names.insert(more->begin(), more->end());
    }
    return names;
  }

  /// Returns whether it is the unchanged parameter.
  bool is_parameter(const Operand& operand) const {
    const Instruction* from = definition(operand);
    for (int depth = 0; from != nullptr && depth < kDepthMax; ++depth) {
      if (parameter_of(*from)) return true;
      if (from->opcode != Opcode::Mov && from->opcode != Opcode::Cvt) return false;
      from = definition(from->operands[1]);
    }
    return false;
  }

  /// Returns the value for this parameter value; nothing if the result is undefined.
  std::optional<int64_t> value(const Operand& operand, int64_t parameter, int depth = 0) const {
    if (operand.kind == Operand::Kind::Integer) return std::bit_cast<int64_t>(operand.bits);
    if (operand.kind == Operand::Kind::Special) return int64_t{block_};
    const Instruction* from = definition(operand);
    if (from == nullptr || depth > kDepthMax) return std::nullopt;
    std::optional<int64_t> result =
        parameter_of(*from) ? parameter : computed(*from, parameter, depth);
    if (result && operand.negated) result = *result == 0 ? 1 : 0;
    return result;
  }

  std::optional<int64_t> computed(const Instruction& instruction, int64_t parameter,
                                  int depth) const {
    std::vector<int64_t> given;
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
      const auto one = value(instruction.operands[i], parameter, depth + 1);
      if (!one) return std::nullopt;
      given.push_back(*one);
    }
    return apply(instruction, given);
  }

 private:
  void define(const Operand& to, const Instruction& instruction) {
    for (const Operand& element : to.elements) define(element, instruction);
    if (to.kind != Operand::Kind::Register) return;
    Definition& definition = definitions_[to.reg];
    definition.instruction = &instruction;
    definition.sound = definition.count++ == 0 && !instruction.guard && to.elements.empty();
  }

  const Instruction* definition(const Operand& operand) const {
    if (operand.kind != Operand::Kind::Register) return nullptr;
    const Definition& definition = definitions_[operand.reg];
    const bool is_first = definition.instruction != nullptr &&
                          !definition.instruction->operands.empty() &&
                          definition.instruction->operands[0].kind == Operand::Kind::Register;
    return definition.sound && definition.count == 1 && is_first ? definition.instruction : nullptr;
  }

  static std::optional<std::string> parameter_of(const Instruction& instruction) {
    if (instruction.opcode != Opcode::Ld || !instruction.has(ptx::Modifier::Param)) {
      return std::nullopt;
    }
    if (types_of(instruction).empty() || instruction.operands.size() < 2) return std::nullopt;
    const Operand& from = instruction.operands[1];
    if (from.elements.empty() || from.elements[0].kind != Operand::Kind::Variable) {
      return std::nullopt;
    }
    return from.elements[0].name + "+" + std::to_string(from.offset + from.elements[0].offset);
  }

  std::optional<int64_t> apply(const Instruction& instruction, std::vector<int64_t> given) const {
    const std::vector<IntegerType> types = types_of(instruction);
    const Operation* const operation = kOperations.find(instruction.opcode);
    if (given.empty() || operation == nullptr) return std::nullopt;
    if (types.empty()) {
      return instruction.has(ptx::Modifier::Pred) ? of_predicates(instruction, given)
                                                  : std::nullopt;
    }
    // The first type of cvt is the result's, the second the operand's.
    const bool converts = instruction.opcode == Opcode::Cvt && types.size() > 1;
    const IntegerType from = converts ? types[1] : types[0];
    IntegerType to = types[0];
    if (instruction.has(ptx::Modifier::Wide)) to.bits = 2 * to.bits;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!is_of_another_type(instruction, i)) {
        given[i] = as_type(static_cast<uint64_t>(given[i]), from);
      }
    }
    if (given.size() < operation->operands || to.bits > 64) return std::nullopt;
    const std::optional<int64_t> result = operation->compute({instruction, from, given});
    if (!result) return std::nullopt;
    return as_type(bits(*result), to);
  }

  struct Definition {
    const Instruction* instruction = nullptr;
    uint32_t count = 0;
    bool sound = false;
  };
  const uint32_t block_;
  std::vector<Definition> definitions_;
};

struct RareClass {
  size_t fulfilled = 0;  ///< Number of tried sizes that take the rare side.
  std::vector<int64_t> sizes;
};

/// Returns the rare sizes, without those at which a period has just begun.
std::vector<int64_t> chosen(const std::vector<int64_t>& rare) {
  std::vector<int64_t> sizes;
  for (const int64_t size : rare) {
    if (size > 2 && sizes.size() < kSizesOfClass) sizes.push_back(size);
  }
  return sizes.empty() ? rare : sizes;
}

class Search {
 public:
  Search(const Function& function, uint32_t block) : function_(function), of_(function, block) {
    for (int64_t size = 1; size <= kSizesTried; ++size) tried_.push_back(size);
    std::set<int64_t> beyond;
    for (const Instruction& instruction : function.body) {
      for (const Operand& operand : instruction.operands) {
        const auto number = static_cast<int64_t>(operand.bits);
        if (operand.kind != Operand::Kind::Integer || number <= kSizesTried ||
            number > kLargestConstant) {
          continue;
        }
        for (int64_t off = -2; off <= 2; ++off) beyond.insert(number + off);
      }
    }
    for (const int64_t size : beyond) {
      if (size > kSizesTried) tried_.push_back(size);
    }
  }

  RareSizes found() {
    for (const Instruction& instruction : function_.body) {
      if (instruction.opcode == Opcode::Setp) look_at(instruction);
    }
    std::ranges::stable_sort(rare_, {}, &RareClass::fulfilled);
    RareSizes found;
    for (const RareClass& one : rare_) {
      const bool known = std::ranges::find(found.classes, one.sizes) != found.classes.end();
      if (!known && found.classes.size() < kClassesMax) found.classes.push_back(one.sizes);
    }
    found.thresholds.assign(edges_.begin(), edges_.end());
    if (found.thresholds.size() > kClassesMax) found.thresholds.resize(kClassesMax);
    return found;
  }

 private:
  bool is_apart(const Instruction& instruction) const {
    if (instruction.operands.size() != 3 || types_of(instruction).empty()) return true;
    const bool equal = instruction.has(ptx::Modifier::Eq) || instruction.has(ptx::Modifier::Ne);
    const bool plain = of_.is_parameter(instruction.operands[1]) &&
                       instruction.operands[2].kind == Operand::Kind::Integer;
    if (equal && plain) return true;  // Sizes that are singled out.
    std::set<std::string> names;
    for (size_t i = 1; i < 3; ++i) {
      const auto more = of_.parameters(instruction.operands[i]);
      if (!more) return true;
      names.insert(more->begin(), more->end());
    }
    return names.size() != 1;
  }

  void look_at(const Instruction& instruction) {
    if (is_apart(instruction)) return;
    std::vector<bool> holds;
    for (const int64_t size : tried_) {
      const auto value = of_.computed(instruction, size, 0);
      if (!value) return;
      holds.push_back(*value != 0);
    }
    const auto true_count = static_cast<size_t>(std::ranges::count(holds, true));
    const bool rare_is = true_count * 2 <= holds.size();
    std::vector<int64_t> rare;
    size_t changes = 0;
    int64_t edge = 0;
    for (size_t i = 0; i < holds.size(); ++i) {
      if (holds[i] == rare_is) rare.push_back(tried_[i]);
      if (i > 0 && holds[i] != holds[i - 1]) {
        ++changes;
        edge = tried_[i];
      }
    }
    if (changes == 1) {
      for (const int64_t size : {edge, edge - 1}) {
        if (size >= kThresholdFrom) edges_.insert(size);
      }
    } else if (changes > 1 && rare.size() * kCommonFrom <= holds.size()) {
      rare_.push_back({rare.size(), chosen(rare)});
    }
  }

  const Function& function_;
  const Evaluator of_;
  std::vector<int64_t> tried_;
  std::vector<RareClass> rare_;
  std::set<int64_t, std::greater<>> edges_;
};

}  // namespace

RareSizes rare_sizes(const ptx::Function& function, uint32_t block) {
  return Search(function, block).found();
}

}  // namespace gpuemu
