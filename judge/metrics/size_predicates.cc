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
using ptx::Operand;
using ptx::Type;

/// Sizes for which every predicate is computed: several periods of any tile, in a millisecond.
constexpr int64_t kSizesTried = 2100;
/// A predicate that more than one of so many sizes fulfil needs no case of its own.
constexpr size_t kCommonFrom = 12;
constexpr int64_t kLargestConstant = 1 << 20;
constexpr size_t kSizesOfClass = 6, kClassesMax = 16;
/// Smaller sizes come often enough by themselves; unrolled loops ask for many of them.
constexpr int64_t kThresholdFrom = 8;
/// Instructions that one value may follow from.
constexpr int kDepthMax = 64;

struct IntegerType {
  uint32_t bits = 0;
  bool is_signed = false;
};

std::optional<IntegerType> integer_type(const std::string& modifier) {
  if (modifier.size() < 2 || modifier.size() > 3) return std::nullopt;
  const char kind = modifier[0];
  if (kind != 's' && kind != 'u' && kind != 'b') return std::nullopt;
  for (const uint32_t bits : {8U, 16U, 32U, 64U})
    if (modifier.substr(1) == std::to_string(bits)) return IntegerType{bits, kind == 's'};
  return std::nullopt;
}

/// The last types of the instruction, in order of writing.
std::vector<IntegerType> types_of(const Instruction& instruction) {
  std::vector<IntegerType> types;
  for (const std::string& modifier : instruction.modifiers)
    if (const auto type = integer_type(modifier)) types.push_back(*type);
  return types;
}

/// The low bits, extended to 64 as the type says.
int64_t as_type(uint64_t value, IntegerType type) {
  if (type.bits == 64) return std::bit_cast<int64_t>(value);
  const uint64_t low = value & ((uint64_t{1} << type.bits) - 1);
  const bool negative = type.is_signed && (low >> (type.bits - 1)) != 0;
  return std::bit_cast<int64_t>(negative ? low | ~((uint64_t{1} << type.bits) - 1) : low);
}

/// Computes values that follow from one parameter.
class Evaluator {
 public:
  Evaluator(const Function& function, uint32_t block)
      : block_(block), definitions_(function.registers.size()) {
    for (const Instruction& instruction : function.body) {
      if (!instruction.operands.empty()) define(instruction.operands[0], instruction);
      for (const Operand& result : instruction.call_results) define(result, instruction);
    }
  }

  /// The parameters that a value follows from; nothing where it follows from something else too.
  std::optional<std::set<std::string>> parameters(const Operand& operand, int depth = 0) const {
    if (operand.kind == Operand::Kind::Integer) return std::set<std::string>();
    if (operand.kind == Operand::Kind::Special && operand.name == "%ntid.x" && block_ > 0)
      return std::set<std::string>();
    const Instruction* from = definition(operand);
    if (from == nullptr || depth > kDepthMax) return std::nullopt;
    if (const auto name = parameter_of(*from)) return std::set{*name};
    if (!is_known(*from)) return std::nullopt;
    std::set<std::string> names;
    for (size_t i = 1; i < from->operands.size(); ++i) {
      const auto more = parameters(from->operands[i], depth + 1);
      if (!more) return std::nullopt;
      names.insert(more->begin(), more->end());
    }
    return names;
  }

  /// Whether it is the parameter as it is.
  bool is_parameter(const Operand& operand) const {
    const Instruction* from = definition(operand);
    for (int depth = 0; from != nullptr && depth < kDepthMax; ++depth) {
      if (parameter_of(*from)) return true;
      if (from->family != "mov" && from->family != "cvt") return false;
      from = definition(from->operands[1]);
    }
    return false;
  }

  /// With the parameter of this value. Nothing for what the machine does not define.
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
    if (instruction.family != "ld" || !instruction.has("param")) return std::nullopt;
    if (types_of(instruction).empty() || instruction.operands.size() < 2) return std::nullopt;
    const Operand& from = instruction.operands[1];
    if (from.elements.empty() || from.elements[0].kind != Operand::Kind::Variable)
      return std::nullopt;
    return from.elements[0].name + "+" + std::to_string(from.offset + from.elements[0].offset);
  }

  static bool is_known(const Instruction& instruction) {
    for (const char* family :
         {"mov", "cvt", "add", "sub", "mul", "mad", "shl", "shr", "and",  "or",
          "xor", "not", "neg", "abs", "min", "max", "rem", "div", "selp", "setp"}) {
      if (instruction.family == family) return true;
    }
    return false;
  }

  static std::optional<int64_t> compared(const Instruction& instruction, int64_t a, int64_t b) {
    const bool is_unsigned = !types_of(instruction).empty() && !types_of(instruction)[0].is_signed;
    const bool less = is_unsigned ? std::bit_cast<uint64_t>(a) < std::bit_cast<uint64_t>(b) : a < b;
    for (const auto& [name, holds] : {std::pair{"eq", a == b},
                                      {"ne", a != b},
                                      {"lt", less},
                                      {"lo", less},
                                      {"le", less || a == b},
                                      {"ls", less || a == b},
                                      {"gt", !less && a != b},
                                      {"hi", !less && a != b},
                                      {"ge", !less},
                                      {"hs", !less}}) {
      if (instruction.has(name)) return holds ? 1 : 0;
    }
    return std::nullopt;
  }

  static std::optional<int64_t> of_predicates(const Instruction& instruction,
                                              const std::vector<int64_t>& given) {
    const std::string& family = instruction.family;
    if (family == "mov") return given[0];
    if (family == "not") return given[0] == 0 ? 1 : 0;
    if (given.size() < 2) return std::nullopt;
    if (family == "and") return given[0] & given[1];
    if (family == "or") return given[0] | given[1];
    if (family == "xor") return given[0] ^ given[1];
    return std::nullopt;
  }

  static std::optional<int64_t> divided(const Instruction& instruction, IntegerType type, int64_t a,
                                        int64_t b) {
    if (b == 0 || b == -1) return std::nullopt;
    const bool rest = instruction.family == "rem";
    if (type.is_signed) return rest ? a % b : a / b;
    const auto x = std::bit_cast<uint64_t>(a), y = std::bit_cast<uint64_t>(b);
    return std::bit_cast<int64_t>(rest ? x % y : x / y);
  }

  /// Of 64 bits the upper half is not computed.
  static std::optional<int64_t> multiplied(const Instruction& instruction, IntegerType type,
                                           int64_t a, int64_t b) {
    const auto low =
        std::bit_cast<int64_t>(std::bit_cast<uint64_t>(a) * std::bit_cast<uint64_t>(b));
    if (!instruction.has("hi")) return low;
    if (type.bits > 32) return std::nullopt;
    return type.is_signed ? low >> type.bits
                          : std::bit_cast<int64_t>(std::bit_cast<uint64_t>(low) >> type.bits);
  }

  static int64_t shifted(const Instruction& instruction, IntegerType type, int64_t a, int64_t b) {
    const auto by = static_cast<uint64_t>(b) & 0xffffffff;
    if (instruction.family == "shl")
      return by >= type.bits ? 0 : std::bit_cast<int64_t>(std::bit_cast<uint64_t>(a) << by);
    if (type.is_signed) return a >> std::min<uint64_t>(by, type.bits - 1);
    return by >= type.bits ? 0 : std::bit_cast<int64_t>(std::bit_cast<uint64_t>(a) >> by);
  }

  std::optional<int64_t> apply(const Instruction& instruction, std::vector<int64_t> given) const {
    const std::string& family = instruction.family;
    const std::vector<IntegerType> types = types_of(instruction);
    if (given.empty()) return std::nullopt;
    if (types.empty())
      return instruction.has("pred") ? of_predicates(instruction, given) : std::nullopt;
    // Of cvt the first type is the result's and the second the operand's.
    const IntegerType from = family == "cvt" && types.size() > 1 ? types[1] : types[0];
    IntegerType to = types[0];
    const bool selects = family == "selp";
    for (size_t i = 0; i < given.size(); ++i) {
      if (selects && i == 2) continue;
      // The amount of a shift has 32 bits whatever is shifted.
      if ((family == "shl" || family == "shr") && i == 1) continue;
      if (family == "mad" && i == 2 && instruction.has("wide")) continue;
      given[i] = as_type(static_cast<uint64_t>(given[i]), from);
    }
    if (family == "setp")
      return given.size() == 2 ? compared(instruction, given[0], given[1]) : std::nullopt;
    std::optional<int64_t> result;
    const auto bits = [](int64_t value) { return static_cast<uint64_t>(value); };
    if (family == "mov" || family == "cvt") result = given[0];
    if (family == "not") result = ~given[0];
    if (family == "neg") result = static_cast<int64_t>(0 - bits(given[0]));
    if (family == "abs")
      result = given[0] < 0 ? static_cast<int64_t>(0 - bits(given[0])) : given[0];
    if (selects && given.size() == 3) result = given[2] != 0 ? given[0] : given[1];
    if (given.size() >= 2) {
      const int64_t a = given[0], b = given[1];
      if (family == "add") result = static_cast<int64_t>(bits(a) + bits(b));
      if (family == "sub") result = static_cast<int64_t>(bits(a) - bits(b));
      if (family == "and") result = a & b;
      if (family == "or") result = a | b;
      if (family == "xor") result = a ^ b;
      const bool less = from.is_signed ? a < b : bits(a) < bits(b);
      if (family == "min") result = less ? a : b;
      if (family == "max") result = less ? b : a;
      if (family == "rem" || family == "div") result = divided(instruction, from, a, b);
      if (family == "shl" || family == "shr") result = shifted(instruction, from, a, b);
      if (family == "mul" || family == "mad") {
        if (instruction.has("wide")) to.bits = 2 * to.bits;
        result = multiplied(instruction, from, a, b);
        if (family == "mad") {
          if (!result || given.size() != 3) return std::nullopt;
          result = static_cast<int64_t>(bits(*result) + bits(given[2]));
        }
      }
    }
    if (!result || to.bits > 64) return std::nullopt;
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
  size_t fulfilled = 0;  ///< How many of the tried sizes do what is rare.
  std::vector<int64_t> sizes;
};

/// Those that do what few do, without the ones at which a period has hardly begun.
std::vector<int64_t> chosen(const std::vector<int64_t>& rare) {
  std::vector<int64_t> sizes;
  for (const int64_t size : rare)
    if (size > 2 && sizes.size() < kSizesOfClass) sizes.push_back(size);
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
            number > kLargestConstant)
          continue;
        for (int64_t off = -2; off <= 2; ++off) beyond.insert(number + off);
      }
    }
    for (const int64_t size : beyond)
      if (size > kSizesTried) tried_.push_back(size);
  }

  RareSizes found() {
    for (const Instruction& instruction : function_.body)
      if (instruction.family == "setp") look_at(instruction);
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
    const bool equal = instruction.has("eq") || instruction.has("ne");
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
      for (const int64_t size : {edge, edge - 1})
        if (size >= kThresholdFrom) edges_.insert(size);
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
