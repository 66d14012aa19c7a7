// Hoists computations that depend only on constants, parameters, sizes and either the thread's or
// the block's index. They run when a register frame is made, or is reused for another warp or block
// (Prologue), instead of at their place in the code. The frame of a block without barriers serves
// one warp after another, so values that depend on the block alone are computed once for all of its
// warps.
#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>
#include <utility>

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/ptx/flow/operands.h"

namespace gpuemu::emulator {
using ptx::each_register;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
namespace {

/// Returns the handlers whose result follows from their operands alone and that no check uses.
const std::unordered_set<Handler>& repeatable_handlers() {
  static const std::unordered_set<Handler> kAll = [] {
    static constexpr std::array kOthers = {"ld.", "st.", "div.", "rem."};
    std::unordered_set<Handler> all;
    for (const auto& [key, row] : handlers()) {
      const bool other = std::ranges::any_of(
          kOthers, [&, &k = key](const char* prefix) { return k.starts_with(prefix); });
      if (other && !key.starts_with("ld.param.")) continue;
      all.insert(row.run);
      if (row.rounded != nullptr) all.insert(row.rounded);
    }
    return all;
  }();
  return kAll;
}

bool known_at_start(SpecialRegister which) {
  using R = SpecialRegister;
  return which <= R::WarpId || (which >= R::MaskEq && which <= R::MaskGt) || which == R::WarpSize;
}

/// What a value depends on, as bits.
using Dependence = uint8_t;
constexpr Dependence kOnWarp = 1, kOnBlock = 2;

Dependence dependence_of(SpecialRegister which) {
  using R = SpecialRegister;
  if (which <= R::TidZ || which == R::WarpId) return kOnWarp;
  return which >= R::CtaidX && which <= R::CtaidZ ? kOnBlock : 0;
}

/// Returns how often each register is the destination of an instruction.
std::vector<uint32_t> definitions(const ptx::Function& function) {
  std::vector<uint32_t> count(function.registers.size());
  for (const Instruction& instruction : function.body) {
    if (!instruction.operands.empty() && instruction.operands[0].kind != Operand::Kind::Address) {
      each_register(instruction.operands[0], [&](uint32_t reg) { ++count[reg]; });
    }
  }
  return count;
}
}  // namespace

/// Returns whether PTX instruction `index` only computes a value, and the same one at every
/// execution.
bool Decoder::repeatable(uint32_t index, const std::vector<bool>& invariant,
                         const std::vector<uint32_t>& defined) const {
  const Instruction& in = function().body[index];
  if (in.guard || in.operands.size() < 2 || in.operands[0].kind == Operand::Kind::Address) {
    return false;
  }
  if (!function().is_entry && in.opcode == Opcode::Ld) return false;
  bool good = true;
  each_register(in.operands[0], [&](uint32_t reg) { good = good && defined[reg] == 1; });
  for (size_t i = 1; i < in.operands.size(); ++i) {
    each_register(in.operands[i], [&](uint32_t reg) { good = good && invariant[reg]; });
  }
  const Step *begin = &code_.steps[first_[index]],
             *end = begin + (first_[index + 1] - first_[index]);
  return good && begin != end && std::all_of(begin, end, [](const Step& step) {
           if (const auto* const special = step.operands.find<SpecialOperands>()) {
             return known_at_start(special->which);
           }
           return repeatable_handlers().contains(step.run);
         });
}

namespace {
/// Returns what the result depends on, given the same for the registers.
Dependence dependence(const Instruction& in, std::span<const Step> steps,
                      const std::vector<Dependence>& of) {
  Dependence all = 0;
  for (const Step& step : steps) {
    if (const auto* const special = step.operands.find<SpecialOperands>()) {
      all |= dependence_of(special->which);
    }
  }
  for (size_t i = 1; i < in.operands.size(); ++i) {
    each_register(in.operands[i], [&](uint32_t reg) { all |= of[reg]; });
  }
  return all;
}
}  // namespace

std::vector<bool> Decoder::find_invariants() {
  const auto& body = function().body;
  std::vector<Dependence> on(function().registers.size());
  const std::vector<uint32_t> defined = definitions(function());
  std::vector<bool> invariant(function().registers.size()), moved(body.size());
  // Text order is nearly always dependence order; a second pass handles the exceptions that jumps
  // make.
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < body.size(); ++i) {
      if (moved[i] || !repeatable(i, invariant, defined)) continue;
      const std::span<const Step> own(&code_.steps[first_[i]], first_[i + 1] - first_[i]);
      const Dependence depends = dependence(body[i], own, on);
      if (depends == (kOnWarp | kOnBlock)) continue;  // Different for every warp of every block.
      moved[i] = true;
      each_register(body[i].operands[0], [&](uint32_t reg) {
        invariant[reg] = true;
        on[reg] = depends;
      });
      std::vector<Step>& part = depends == kOnWarp    ? code_.prologue.per_warp
                                : depends == kOnBlock ? code_.prologue.per_block
                                                      : code_.prologue.once;
      part.insert(part.end(), own.begin(), own.end());
    }
  }
  return moved;
}

/// Moves the steps to Code::prologue. They still count at their original place: through the next
/// instruction of the block, or a step that only counts.
void Decoder::hoist_invariants() {
  const std::vector<bool> moved = find_invariants();
  if (std::ranges::find(moved, true) == moved.end()) return;
  std::vector<Step> kept;
  uint32_t owed = 0;
  const auto settle = [&](uint32_t origin) {
    if (owed == 0) return;
    Step step;
    step.run = steps::nothing;
    step.counted = owed;
    step.origin = origin;
    kept.push_back(step);
    owed = 0;
  };
  for (uint32_t i = 0; i < moved.size(); ++i) {
    if (i > 0 && flow_.block_of[i] != flow_.block_of[i - 1]) settle(i - 1);
    const uint32_t begin = first_[i], end = first_[i + 1];
    first_[i] = static_cast<uint32_t>(kept.size());
    if (moved[i]) {
      ++owed;
      continue;
    }
    if (begin == end) continue;
    const bool stands_in = code_.steps[begin].counted != 0 && runs_straight(code_.steps[begin]);
    if (!stands_in) {
      settle(i);
      first_[i] = static_cast<uint32_t>(kept.size());
    }
    for (uint32_t at = begin; at < end; ++at) kept.push_back(code_.steps[at]);
    if (stands_in) kept[first_[i]].counted += std::exchange(owed, 0);
  }
  settle(static_cast<uint32_t>(moved.size() - 1));
  const uint32_t tail = first_[moved.size()];
  first_[moved.size()] = static_cast<uint32_t>(kept.size());
  for (size_t at = tail; at < code_.steps.size(); ++at) kept.push_back(code_.steps[at]);
  code_.steps = std::move(kept);
}

}  // namespace gpuemu::emulator
