#include "judge/metrics/divergence.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace gpuemu {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

// Special registers that have the same value in every lane of a warp.
constexpr auto kUniformSpecials = std::to_array<std::string_view>(
    {"%ctaid", "%nctaid", "%ntid", "%gridid", "%warpid", "%nwarpid", "%smid", "%nsmid",
     "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank",
     "%cluster_nctarank", "%total_smem_size", "%dynamic_smem_size"});
bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class Analysis {
 public:
  explicit Analysis(const ptx::Function& function)
      : function_(function),
        varies_(function.registers.size(), false),
        definitions_(function.registers.size(), 0) {
    for (const Instruction& one : function.body) {
      if (!one.operands.empty()) count_definitions(one.operands[0]);
    }
  }

  Branches run() {
    // Values only ever change from uniform to varying, so this terminates.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& one : function_.body) changed = step(one) || changed;
      if (!parted_ && count().divergent > 0) parted_ = changed = true;
      changed = (parted_ && mark_redefined()) || changed;
    }
    return count();
  }

 private:
  Branches count() const {
    Branches found;
    for (const Instruction& one : function_.body) {
      const bool leaves =
          one.opcode == Opcode::Bra || one.opcode == Opcode::Ret || one.opcode == Opcode::Exit;
      const bool table = one.opcode == Opcode::Brx;
      if (!(table || (leaves && one.guard))) continue;
      ++found.conditional;
      const bool differs = (one.guard && varies(*one.guard)) ||
                           (table && !one.operands.empty() && varies(one.operands[0]));
      if (differs) ++found.divergent;
    }
    return found;
  }

  // Threads on different paths may have assigned different values to such a register.
  bool mark_redefined() {
    bool changed = false;
    for (size_t i = 0; i < varies_.size(); ++i) {
      if (definitions_[i] < 2 || varies_[i]) continue;
      varies_[i] = changed = true;
    }
    return changed;
  }

  void count_definitions(const Operand& operand) {
    if (operand.kind == Operand::Kind::Register) ++definitions_[operand.reg];
    if (operand.kind == Operand::Kind::Address) return;
    for (const Operand& one : operand.elements) count_definitions(one);
  }

  bool varies(const Operand& operand) const {
    if (operand.kind == Operand::Kind::Register) return varies_[operand.reg];
    if (operand.kind == Operand::Kind::Special) {
      const std::string_view whole = operand.name;
      return !contains(kUniformSpecials, whole.substr(0, whole.find('.')));
    }
    return std::ranges::any_of(operand.elements, [&](const Operand& one) { return varies(one); });
  }

  bool mark(const Operand& operand) {
    bool changed = false;
    if (operand.kind == Operand::Kind::Register && !varies_[operand.reg]) {
      varies_[operand.reg] = changed = true;
    }
    if (operand.kind == Operand::Kind::Address) return changed;
    for (const Operand& one : operand.elements) changed = mark(one) || changed;
    return changed;
  }

  bool result_varies(const Instruction& one) const {
    if (one.guard && varies(*one.guard)) return true;
    // All participating lanes agree, but after a divergent branch these are not all lanes.
    if (one.has(ptx::Trait::UniformResult)) return parted_;
    if (one.has(ptx::Trait::VaryingResult)) return true;
    if (one.opcode == Opcode::Ld && load_varies(one)) return true;
    return std::any_of(one.operands.begin() + 1, one.operands.end(),
                       [&](const Operand& operand) { return varies(operand); });
  }

  bool step(const Instruction& one) {
    bool changed = false;
    for (const Operand& result : one.call_results) changed = mark(result) || changed;
    if (one.opcode == Opcode::Call || one.operands.empty() || !result_varies(one)) return changed;
    return mark(one.operands[0]);
  }

  /// Varies whatever the address is: each thread has its own local memory and call results, and
  /// diverged threads may read at different times.
  bool load_varies(const Instruction& load) const {
    if (load.has(ptx::Modifier::Local)) return true;
    if (load.has(ptx::Modifier::Const)) return false;
    if (!load.has(ptx::Modifier::Param)) return parted_;
    if (load.operands.size() < 2 || load.operands[1].elements.empty()) return true;
    const std::string& base = load.operands[1].elements[0].name;
    return std::ranges::find(function_.params, base, &ptx::Variable::name) ==
           function_.params.end();
  }

  const ptx::Function& function_;
  std::vector<bool> varies_;
  std::vector<uint32_t> definitions_;
  bool parted_ = false;  // Some branch is divergent.
};

}  // namespace

Branches find_divergence(const ptx::Function& function) { return Analysis(function).run(); }

}  // namespace gpuemu
