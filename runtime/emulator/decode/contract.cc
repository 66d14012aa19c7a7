// Which products ptxas fuses was read from its machine code, case by case: all uses must be sums,
// .ftz must agree, a saturated product is never fused, and of two products the first operand wins.
#include "runtime/emulator/decode/contract.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/ptx/cfg.h"

namespace gpuemu::emulator {
namespace {

using ptx::Instruction;
using ptx::Operand;

/// What decides whether two instructions may become one.
struct Shape {
  ptx::Type type = ptx::Type::None;
  bool ftz = false, sat = false;
};

/// Of "mul.ftz.f32" and the like; nothing for other families, roundings and integers.
std::optional<Shape> shape_of(const Instruction& from) {
  static constexpr std::array kTypes = {ptx::Type::F16,  ptx::Type::F16x2,  ptx::Type::F32,
                                        ptx::Type::BF16, ptx::Type::BF16x2, ptx::Type::F64};
  Shape shape;
  for (const std::string& modifier : from.modifiers) {
    const auto type = ptx::type_from_name(modifier);
    if (modifier == "ftz") {
      shape.ftz = true;
    } else if (modifier == "sat") {
      shape.sat = true;
    } else if (type && shape.type == ptx::Type::None &&
               std::ranges::find(kTypes, *type) != kTypes.end()) {
      shape.type = *type;
    } else {
      return std::nullopt;
    }
  }
  if (shape.type == ptx::Type::None || from.operands.size() != 3) return std::nullopt;
  return shape;
}

bool is_sum(const Instruction& from) { return from.family == "add" || from.family == "sub"; }

template <typename Visit>
void each_register(const Operand& operand, const Visit& visit) {
  if (operand.kind == Operand::Kind::Register) visit(operand.reg);
  for (const Operand& element : operand.elements) each_register(element, visit);
}

/// Every mention of a register in an instruction, as `visit(register, operand index)`; -1 for
/// guards and the lists of a call.
template <typename Visit>
void each_mention(const Instruction& from, const Visit& visit) {
  for (size_t i = 0; i < from.operands.size(); ++i)
    each_register(from.operands[i], [&](uint32_t reg) {
      visit(reg, from.family == "call" ? -1 : static_cast<int>(i));
    });
  if (from.guard) each_register(*from.guard, [&](uint32_t reg) { visit(reg, -1); });
  for (const auto* list : {&from.call_results, &from.call_arguments})
    for (const Operand& operand : *list)
      each_register(operand, [&](uint32_t reg) { visit(reg, -1); });
}

class Contractor {
 public:
  explicit Contractor(ptx::Function& function)
      : function_(function), blocks_(ptx::analyse(function).block_of) {}

  void run() {
    count_mentions();
    for (uint32_t at = 0; at < function_.body.size(); ++at) consider(at);
    rebuild();
  }

 private:
  static constexpr uint32_t kNowhere = ~0U;
  struct Uses {
    uint32_t product = kNowhere;  ///< The only instruction that writes it, when that is a product.
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
      if (here.family == "mul" && !here.guard && shape_of(here) &&
          here.operands[0].kind == Operand::Kind::Register)
        uses_[here.operands[0].reg].product = at;
    }
  }

  /// True when nothing between the two writes what the product reads.
  bool inputs_last(uint32_t product, uint32_t sum) const {
    const Instruction& from = function_.body[product];
    for (uint32_t at = product; at < sum; ++at) {
      bool written = false;
      each_mention(function_.body[at], [&](uint32_t reg, int operand) {
        if (operand > 0) return;
        for (const size_t input : {1, 2})
          each_register(from.operands[input], [&](uint32_t read) { written |= read == reg; });
      });
      if (written) return false;
    }
    return true;
  }

  /// Whether the product in `reg` goes into all sums that use it, `sum` being one.
  bool may_fuse(uint32_t reg, uint32_t sum) const {
    const Uses& uses = uses_[reg];
    // The one mention that is no use is its definition.
    if (uses.product == kNowhere || uses.mentions != uses.sums + 1) return false;
    const Shape product = *shape_of(function_.body[uses.product]);
    if (product.sat) return false;
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

  void consider(uint32_t at) {
    const Instruction& sum = function_.body[at];
    if (!is_sum(sum) || !shape_of(sum)) return;
    if (sum.operands[0].kind != Operand::Kind::Register) return;
    for (const uint32_t which : {1U, 2U}) {
      const Operand& operand = sum.operands[which];
      if (operand.kind != Operand::Kind::Register || operand.negated || !may_fuse(operand.reg, at))
        continue;
      fused_.push_back({at, uses_[operand.reg].product, which});
      return;
    }
  }

  struct Fused {
    uint32_t sum, product, which;
  };

  /// `operand` with its sign turned: an immediate at once, a register by an instruction of its own.
  Operand negative(const Operand& operand, const Instruction& sum, std::vector<Instruction>& out) {
    Operand turned = operand;
    if (operand.kind == Operand::Kind::Float) {
      turned.bits ^= uint64_t{1} << (operand.float_bits - 1);
      return turned;
    }
    Instruction neg;
    neg.family = "neg";
    neg.modifiers = {std::string(ptx::name_of(shape_of(sum)->type))};
    neg.guard = sum.guard;
    neg.where = sum.where;
    neg.source = sum.source;
    turned = sum.operands[0];
    turned.reg = static_cast<uint32_t>(function_.registers.size());
    turned.name = "%negative" + std::to_string(turned.reg);
    function_.registers.push_back({turned.name, register_type(sum)});
    neg.operands = {turned, operand};
    out.push_back(std::move(neg));
    return turned;
  }

  static ptx::Type register_type(const Instruction& sum) {
    switch (ptx::byte_size(shape_of(sum)->type)) {
      case 2:
        return ptx::Type::B16;
      case 8:
        return ptx::Type::B64;
      default:
        return ptx::Type::B32;
    }
  }

  void append_fma(const Fused& fused, std::vector<Instruction>& out) {
    const Instruction& sum = function_.body[fused.sum];
    const Instruction& product = function_.body[fused.product];
    Operand factor = product.operands[1];
    Operand addend = sum.operands[3 - fused.which];
    if (sum.family == "sub") {
      Operand& turned = fused.which == 1 ? addend : factor;
      turned = negative(turned, sum, out);
    }
    Instruction fma = sum;
    fma.family = "fma";
    fma.modifiers.insert(fma.modifiers.begin(), "rn");
    fma.operands = {sum.operands[0], factor, product.operands[2], addend};
    out.push_back(std::move(fma));
  }

  /// Writes the body anew: a fused sum is an fma, a product that nobody needs is gone.
  void rebuild() {
    if (fused_.empty()) return;
    std::vector<uint32_t> left(function_.body.size(), 0);
    for (const Uses& uses : uses_)
      if (uses.product != kNowhere) left[uses.product] = uses.mentions;
    for (const Fused& fused : fused_) --left[fused.product];
    std::vector<Instruction> body;
    std::vector<uint32_t> moved;
    auto next = fused_.begin();
    for (uint32_t at = 0; at < function_.body.size(); ++at) {
      moved.push_back(static_cast<uint32_t>(body.size()));
      if (next != fused_.end() && next->sum == at) {
        append_fma(*next++, body);
      } else if (left[at] != 1) {
        body.push_back(function_.body[at]);
      }
    }
    moved.push_back(static_cast<uint32_t>(body.size()));
    for (ptx::Label& label : function_.labels) label.instruction = moved[label.instruction];
    function_.body = std::move(body);
  }

  ptx::Function& function_;
  std::vector<uint32_t> blocks_;
  std::vector<Uses> uses_;
  std::vector<Fused> fused_;
};

}  // namespace

void contract(ptx::Module& module) {
  for (ptx::Function& function : module.functions)
    if (!function.body.empty()) Contractor(function).run();
}

}  // namespace gpuemu::emulator
