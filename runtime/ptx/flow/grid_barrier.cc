#include "runtime/ptx/flow/grid_barrier.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace gpuemu::ptx {
namespace {

bool reads_for_host(const Instruction& instruction) {
  if (instruction.opcode != Opcode::Ld && instruction.opcode != Opcode::Atom) return false;
  return instruction.has(Modifier::Volatile) || instruction.has(Modifier::Mmio) ||
         std::ranges::find(instruction.modifiers, "sys") != instruction.modifiers.end();
}

/// Returns whether the function, or one that it calls by name, has such an instruction.
template <typename Predicate>
bool has_any(const Module& module, const Function& function, const Predicate& is_such) {
  std::vector<const Function*> left = {&function};
  std::set<std::string, std::less<>> known;
  while (!left.empty()) {
    const Function& next = *left.back();
    left.pop_back();
    if (std::ranges::any_of(next.body, is_such)) return true;
    for (const Instruction& instruction : next.body) {
      if (instruction.opcode != Opcode::Call || instruction.operands.empty()) continue;
      const std::string& callee = instruction.operands[0].name;
      if (callee.empty() || !known.insert(callee).second) continue;
      for (const Function& other : module.functions) {
        if (other.name == callee) left.push_back(&other);
      }
    }
  }
  return false;
}

}  // namespace

bool reads_grid_barrier(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [](const Operand& operand) {
    return operand.name == "%envreg1" || operand.name == "%envreg2";
  });
}

bool waits_for_grid(const Module& module, const Function& function) {
  return has_any(module, function, reads_grid_barrier);
}

bool may_wait_for_host(const Module& module, const Function& function) {
  return has_any(module, function, reads_for_host);
}

}  // namespace gpuemu::ptx
