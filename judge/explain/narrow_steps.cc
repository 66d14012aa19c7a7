#include "judge/explain/narrow_steps.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "runtime/ptx/flow/operands.h"

namespace gpuemu {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Trait;

bool is_one_of(std::string_view what, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, what) != all.end();
}

/// Returns whether the instruction rounds its result to the type, "f16" or "bf16".
bool rounds_to(const Instruction& in, const std::string& type) {
  const auto& types = in.modifiers;
  if (in.opcode == Opcode::Cvt) {
    constexpr size_t kBoth = 2;
    return types.size() >= kBoth && types.back() == "f32" &&
           is_one_of(types[types.size() - kBoth], {type, type + "x2"});
  }
  return in.has(Trait::RoundsToType) && !types.empty() &&
         is_one_of(types.back(), {type, type + "x2"});
}

/// Returns whether the instruction uses the value in further computation.
bool goes_on_with(const Instruction& in) {
  if (in.opcode == Opcode::St) return in.has(ptx::Modifier::Shared);
  return !in.has(Trait::UseIsVisible);
}

class NarrowStepFinder {
 public:
  NarrowStepFinder(const ptx::Function& function, std::string type)
      : function_(function), type_(std::move(type)) {}

  /// Returns the first instruction that rounds an intermediate result; null if none does.
  const Instruction* first() {
    const Instruction* found = nullptr;
    for (const Instruction& in : function_.body) {
      const Instruction* from = rounded_operand(in);
      if (from != nullptr && in.has(Trait::PassesOn)) {
        note(in, from);
      } else {
        if (from != nullptr && goes_on_with(in) && (found == nullptr || from < found)) found = from;
        if (rounds_to(in, type_)) note(in, &in);
      }
    }
    return found;
  }

 private:
  const Instruction* rounded_operand(const Instruction& in) const {
    const Instruction* found = nullptr;
    const size_t first = in.opcode == Opcode::St ? 0 : 1;
    for (size_t i = first; i < in.operands.size(); ++i) {
      ptx::each_register(in.operands[i], [&](uint32_t reg) {
        const auto at = made_by_.find(reg);
        if (at != made_by_.end() && found == nullptr) found = at->second;
      });
    }
    return found;
  }

  void note(const Instruction& in, const Instruction* by) {
    if (in.operands.empty()) return;
    ptx::each_register(in.operands[0], [&](uint32_t reg) { made_by_.emplace(reg, by); });
  }

  const ptx::Function& function_;
  const std::string type_;
  std::map<uint32_t, const Instruction*>
      made_by_;  ///< The instruction that rounded the value of a register.
};

}  // namespace

std::string narrow_step(const ptx::Module& module, DType dtype) {
  if (dtype != DType::Float16 && dtype != DType::BFloat16) return "";
  for (const ptx::Function& function : module.functions) {
    const Instruction* found =
        NarrowStepFinder(function, dtype == DType::Float16 ? "f16" : "bf16").first();
    if (found == nullptr) continue;
    const ptx::SourceLine line = module.outermost(found->source);
    const auto file = module.files.find(line.file);
    const std::string place =
        file == module.files.end()
            ? fmt::format("PTX line {}", found->where.line)
            : fmt::format("{}:{}", std::filesystem::path(file->second).filename().string(),
                          line.line);
    return fmt::format("rounds to {} between steps at {}", name_of(dtype), place);
  }
  return "";
}

}  // namespace gpuemu
