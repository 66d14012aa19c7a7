// Fuses products and sums as ptxas does. The rules were derived from its machine code, case by
// case: all uses must be sums, .ftz must agree, a saturated product is never fused, and of two
// products the first operand is fused.
#include "runtime/emulator/decode/contract.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "common/rng/rng.h"
#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/flow/operands.h"

namespace gpuemu::emulator {
namespace {

using ptx::each_register;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

/// The properties that decide whether two instructions may be fused.
struct Shape {
  ptx::Type type = ptx::Type::None;
  bool ftz = false, sat = false;
};

bool is_sum(const Instruction& from) {
  return from.opcode == Opcode::Add || from.opcode == Opcode::Sub;
}
bool is_quotient(const Instruction& from) { return from.opcode == Opcode::Div; }
bool is_product(const Instruction& from) { return from.opcode == Opcode::Mul || is_quotient(from); }

/// Parses "mul.ftz.f32" and similar; returns nothing for other roundings and for integers. A
/// quotient counts if it is computed by a product: div.full or div.approx.
std::optional<Shape> shape_of(const Instruction& from) {
  static constexpr std::array kTypes = {ptx::Type::F16,  ptx::Type::F16x2,  ptx::Type::F32,
                                        ptx::Type::BF16, ptx::Type::BF16x2, ptx::Type::F64};
  Shape shape;
  bool quotient = false;
  for (const std::string& modifier : from.modifiers) {
    const auto type = ptx::type_from_name(modifier);
    if (modifier == "ftz") {
      shape.ftz = true;
    } else if (modifier == "sat") {
      shape.sat = true;
    } else if (type && shape.type == ptx::Type::None &&
               std::ranges::find(kTypes, *type) != kTypes.end()) {
      shape.type = *type;
    } else if (is_quotient(from) && (modifier == "full" || modifier == "approx")) {
      quotient = true;
    } else {
      return std::nullopt;
    }
  }
  if (quotient != is_quotient(from)) return std::nullopt;
  if (shape.type == ptx::Type::None || from.operands.size() != 3) return std::nullopt;
  return shape;
}

/// Calls `visit(register, operand index)` for every mention of a register in an instruction. The
/// index is -1 for guards and the lists of a call.
template <typename Visit>
void each_mention(const Instruction& from, const Visit& visit) {
  for (size_t i = 0; i < from.operands.size(); ++i) {
    each_register(from.operands[i], [&](uint32_t reg) {
      visit(reg, from.opcode == Opcode::Call ? -1 : static_cast<int>(i));
    });
  }
  if (from.guard) each_register(*from.guard, [&](uint32_t reg) { visit(reg, -1); });
  for (const auto* list : {&from.call_results, &from.call_arguments}) {
    for (const Operand& operand : *list) {
      each_register(operand, [&](uint32_t reg) { visit(reg, -1); });
    }
  }
}

class Contractor {
 public:
  Contractor(ptx::Function& function, std::optional<uint64_t> seed)
      : function_(function), blocks_(ptx::analyse(function).block_of), seed_(seed) {}

  void run() {
    count_mentions();
    for (uint32_t at = 0; at < function_.body.size(); ++at) consider(at);
    rebuild();
  }

 private:
  static constexpr uint32_t kNowhere = ~0U;
  struct Uses {
    uint32_t product = kNowhere;  ///< The only instruction that writes the register, if it is a
                                  ///< product.
    uint32_t mentions = 0, sums = 0;
    std::vector<uint32_t> users;
  };

  void count_mentions() {
    uses_.resize(function_.registers.size());
    for (uint32_t at = 0; at < function_.body.size(); ++at) {
      const Instruction& here = function_.body[at];
      const bool sum = is_sum(here) && shape_of(here).has_value();
      each_mention(here, [&](uint32_t reg, int operand) {
        ++uses_[reg].mentions;
        if (!sum || operand < 1) return;
        ++uses_[reg].sums;
        uses_[reg].users.push_back(at);
      });
      if (is_product(here) && !here.guard && shape_of(here) &&
          here.operands[0].kind == Operand::Kind::Register) {
        uses_[here.operands[0].reg].product = at;
      }
    }
  }

  /// Returns whether nothing between the two writes the product's inputs.
  bool inputs_last(uint32_t product, uint32_t sum) const {
    const Instruction& from = function_.body[product];
    for (uint32_t at = product; at < sum; ++at) {
      bool written = false;
      each_mention(function_.body[at], [&](uint32_t reg, int operand) {
        if (operand > 0) return;
        for (const size_t input : {1, 2}) {
          each_register(from.operands[input], [&](uint32_t read) { written |= read == reg; });
        }
      });
      if (written) return false;
    }
    return true;
  }

  /// Returns whether the product in `reg` is fused into all sums that use it, `sum` being one.
  bool may_fuse(uint32_t reg, uint32_t sum) const {
    const Uses& uses = uses_[reg];
    // Its definition is the one mention that is not a use.
    if (uses.product == kNowhere || uses.mentions != uses.sums + 1) return false;
    const Shape product = *shape_of(function_.body[uses.product]);
    if (product.sat || is_spared(uses.product)) return false;
    const Instruction& user = function_.body[sum];
    const auto is_product = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::Register && operand.reg == reg;
    };
    if (is_product(user.operands[1]) && is_product(user.operands[2])) return false;
    return std::ranges::all_of(uses.users, [&](uint32_t at) {
      const Shape shape = *shape_of(function_.body[at]);
      return at > uses.product && blocks_[at] == blocks_[uses.product] &&
             shape.type == product.type && shape.ftz == product.ftz &&
             inputs_last(uses.product, at);
    });
  }

  /// Drawn from the product's position, so that all sums that use it agree.
  bool is_spared(uint32_t product) const {
    if (!seed_) return false;
    return Stream(*seed_, product, "contraction/" + function_.name).negative();
  }

  void consider(uint32_t at) {
    const Instruction& sum = function_.body[at];
    if (!is_sum(sum) || !shape_of(sum)) return;
    if (sum.operands[0].kind != Operand::Kind::Register) return;
    for (const uint32_t which : {1U, 2U}) {
      const Operand& operand = sum.operands[which];
      if (operand.kind != Operand::Kind::Register || operand.negated ||
          !may_fuse(operand.reg, at)) {
        continue;
      }
      fused_.push_back({at, uses_[operand.reg].product, which});
      return;
    }
  }

  struct Fused {
    uint32_t sum, product, which;
  };

  Operand new_register(ptx::Type type) {
    Operand made;
    made.kind = Operand::Kind::Register;
    made.reg = static_cast<uint32_t>(function_.registers.size());
    made.name = "%fused" + std::to_string(made.reg);
    function_.registers.push_back({made.name, type});
    return made;
  }

  /// Negates `operand`: an immediate directly, a register by an additional instruction.
  Operand negative(const Operand& operand, const Instruction& sum, std::vector<Instruction>& out) {
    if (operand.kind == Operand::Kind::Float) {
      Operand turned = operand;
      turned.bits ^= uint64_t{1} << (operand.float_bits - 1);
      return turned;
    }
    const ptx::Type type = shape_of(sum)->type;
    const Operand turned = new_register(bits_of(type));
    out.push_back(like(sum, Opcode::Neg, {std::string(ptx::name_of(type))}, {turned, operand}));
    return turned;
  }

  static ptx::Type bits_of(ptx::Type type) {
    if (ptx::byte_size(type) == 2) return ptx::Type::B16;
    return ptx::byte_size(type) == 8 ? ptx::Type::B64 : ptx::Type::B32;
  }

  /// Creates an instruction that replaces `origin`, with the same guard.
  static Instruction like(const Instruction& origin, Opcode opcode, ptx::Modifiers modifiers,
                          std::vector<Operand> operands) {
    Instruction made;
    made.opcode = opcode;
    made.modifiers = std::move(modifiers);
    made.operands = std::move(operands);
    made.guard = origin.guard;
    made.where = origin.where;
    made.source = origin.source;
    return made;
  }

  /// Returns the two factors of a quotient. Dividend and divisor are scaled by the same power of
  /// two if the divisor's reciprocal would not be a normal number; the second factor is that
  /// reciprocal.
  std::pair<Operand, Operand> factors_of(const Instruction& quotient,
                                         std::vector<Instruction>& out) {
    const bool ftz = quotient.has(ptx::Modifier::Ftz);
    const auto add = [&](Opcode opcode, ptx::Modifiers modifiers, ptx::Type type,
                         std::vector<Operand> operands) {
      if (ftz) modifiers.insert(modifiers.size() - 1, "ftz");
      operands.insert(operands.begin(), new_register(type));
      out.push_back(like(quotient, opcode, std::move(modifiers), operands));
      return operands.front();
    };
    Operand dividend = quotient.operands[1], divisor = quotient.operands[2];
    const auto scale_where = [&](const char* comparison, uint32_t bound, uint32_t factor) {
      const Operand size = add(Opcode::Abs, {"f32"}, ptx::Type::B32, {divisor});
      const Operand outside =
          add(Opcode::Setp, {comparison, "f32"}, ptx::Type::Pred, {size, number(bound)});
      Operand scale = new_register(ptx::Type::B32);
      out.push_back(
          like(quotient, Opcode::Selp, {"f32"}, {scale, number(factor), number(kOne), outside}));
      dividend = add(Opcode::Mul, {"rn", "f32"}, ptx::Type::B32, {dividend, scale});
      divisor = add(Opcode::Mul, {"rn", "f32"}, ptx::Type::B32, {divisor, scale});
    };
    if (quotient.has(ptx::Modifier::Full)) scale_where("gt", kTwoTo126, kQuarter);
    if (!ftz) scale_where("lt", kLeastNormal, kTwoTo24);
    const Operand reciprocal = new_register(ptx::Type::B32);
    out.push_back(like(quotient, Opcode::Rcp, {"approx", "ftz", "f32"}, {reciprocal, divisor}));
    return {dividend, reciprocal};
  }

  static Operand number(uint32_t bits) {
    Operand made;
    made.kind = Operand::Kind::Float;
    made.bits = bits;
    made.float_bits = 32;
    return made;
  }

  void append_fma(const Fused& fused, std::vector<Instruction>& out) {
    const Instruction& sum = function_.body[fused.sum];
    const Instruction& product = function_.body[fused.product];
    std::pair<Operand, Operand> factors(product.operands[1], product.operands[2]);
    if (is_quotient(product)) factors = factors_.at(fused.product);
    Operand& factor = factors.first;
    Operand addend = sum.operands[3 - fused.which];
    if (sum.opcode == Opcode::Sub) {
      Operand& turned = fused.which == 1 ? addend : factor;
      turned = negative(turned, sum, out);
    }
    Instruction fma = sum;
    fma.opcode = Opcode::Fma;
    fma.modifiers.insert(0, "rn");
    fma.operands = {sum.operands[0], factor, factors.second, addend};
    out.push_back(std::move(fma));
  }

  /// Rewrites the body: a fused sum becomes an fma, and products without other uses are removed.
  void rebuild() {
    if (fused_.empty()) return;
    std::vector<uint32_t> left(function_.body.size(), 0);
    for (const Uses& uses : uses_) {
      if (uses.product != kNowhere) left[uses.product] = uses.mentions;
    }
    std::vector<bool> in_sums(function_.body.size(), false);
    for (const Fused& fused : fused_) {
      --left[fused.product];
      in_sums[fused.product] = true;
    }
    std::vector<Instruction> body;
    std::vector<uint32_t> moved;
    auto next = fused_.begin();
    for (uint32_t at = 0; at < function_.body.size(); ++at) {
      moved.push_back(static_cast<uint32_t>(body.size()));
      if (next != fused_.end() && next->sum == at) {
        append_fma(*next++, body);
        continue;
      }
      if (in_sums[at] && is_quotient(function_.body[at])) {
        factors_[at] = factors_of(function_.body[at], body);
      }
      if (left[at] != 1) {
        body.push_back(function_.body[at]);
      }
    }
    moved.push_back(static_cast<uint32_t>(body.size()));
    for (ptx::Label& label : function_.labels) label.instruction = moved[label.instruction];
    function_.body = std::move(body);
  }

  static constexpr uint32_t kOne = 0x3f800000, kQuarter = 0x3e800000, kTwoTo24 = 0x4b800000;
  static constexpr uint32_t kTwoTo126 = 0x7e800000, kLeastNormal = 0x00800000;

  ptx::Function& function_;
  std::vector<uint32_t> blocks_;
  std::optional<uint64_t> seed_;
  std::vector<Uses> uses_;
  std::vector<Fused> fused_;
  std::map<uint32_t, std::pair<Operand, Operand>>
      factors_;  ///< Factors of the quotients that are fused.
};

}  // namespace

void contract(ptx::Module& module, std::optional<uint64_t> seed) {
  for (ptx::Function& function : module.functions) {
    if (!function.body.empty()) Contractor(function, seed).run();
  }
}

}  // namespace gpuemu::emulator
