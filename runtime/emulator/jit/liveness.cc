#include "runtime/emulator/jit/liveness.h"

#include <algorithm>

#include "runtime/ptx/flow/operands.h"
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {
namespace {
using ptx::each_register;
using ptx::Instruction;
using ptx::Operand;

template <typename Visit>
void each_register(const Instruction& in, const Visit& visit) {
  if (in.guard) each_register(*in.guard, visit);
  for (const auto* operands : {&in.operands, &in.call_results, &in.call_arguments}) {
    for (const Operand& operand : *operands) each_register(operand, visit);
  }
}

bool only_writes(const Instruction& in, uint32_t reg) {
  if (in.guard || in.operands.empty() || in.operands[0].kind == Operand::Kind::Address) {
    return false;
  }
  bool writes = false, reads = false;
  each_register(in.operands[0], [&](uint32_t named) { writes = writes || named == reg; });
  for (size_t i = 1; i < in.operands.size(); ++i) {
    each_register(in.operands[i], [&](uint32_t named) { reads = reads || named == reg; });
  }
  return writes && !reads;
}
}  // namespace

Liveness::Liveness(const Code& code) {
  const auto& body = code.source->body;
  std::vector<bool> has_steps(body.size(), false);
  for (uint32_t step = 0; step < code.steps.size(); ++step) {
    const uint32_t origin = code.steps[step].origin;
    if (origin >= body.size()) continue;
    has_steps[origin] = true;
    each_register(body[origin], [&](uint32_t reg) {
      Mentions& mentions = of_[code.registers[reg].offset];
      if (mentions.steps.empty()) mentions.begins_written = only_writes(body[origin], reg);
      if (mentions.steps.empty() || mentions.steps.back() != step) mentions.steps.push_back(step);
    });
  }
  for (size_t origin = 0; origin < body.size(); ++origin) {
    if (!has_steps[origin]) {
      each_register(body[origin],
                    [&](uint32_t reg) { of_[code.registers[reg].offset].elsewhere = true; });
    }
  }
}

bool Liveness::is_dead_after(uint32_t offset, uint32_t step, StepRange straight_line) const {
  const auto found = of_.find(offset);
  if (found == of_.end() || found->second.steps.empty()) return false;
  const Mentions& mentions = found->second;
  return !mentions.elsewhere && mentions.begins_written &&
         mentions.steps.front() >= straight_line.begin &&
         mentions.steps.back() < straight_line.end && mentions.steps.back() <= step;
}

uint32_t Liveness::next_mention(uint32_t offset, uint32_t step) const {
  const auto found = of_.find(offset);
  if (found == of_.end()) return kNone;
  const auto next = std::ranges::lower_bound(found->second.steps, step);
  return next == found->second.steps.end() ? kNone : *next;
}

}  // namespace gpuemu::emulator
