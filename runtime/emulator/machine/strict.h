// Strict tracking of undefined values, for the redundancy review
// (runtime/emulator/redundancy_review.h): a result with any undefined operand is undefined, and a
// use that cannot be tracked counts as a use of the value.
#pragma once

#include <algorithm>
#include <span>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/undefined_bits.h"

namespace gpuemu::emulator {

/// Returns whether the launch is a redundancy review (runtime/emulator/redundancy_review.h). All
/// other launches that check undefined values also check divisions.
inline bool follows_strictly(const Launch& launch) {
  return launch.observer != nullptr && launch.inputs.checks.init && !launch.inputs.checks.division;
}

/// Returns the undefined operands that a `selp` depends on, under strict tracking.
template <typename ValueOf>
UndefinedValue picked(Warp& warp, const ptx::Instruction& in, const ValueOf& value_of) {
  const UndefinedValue yes = value_of(in.operands[1]), no = value_of(in.operands[2]);
  const bool known = in.operands[3].kind == ptx::Operand::Kind::Register;
  const UndefinedValue condition = value_of(in.operands[3]);
  uint32_t taken = kNone;
  if (known) taken = warp.pred(warp.code().registers[in.operands[3].reg].offset);
  if (known && in.operands[3].negated) taken = ~taken;
  const uint32_t from_yes = known ? yes.lanes & taken : yes.lanes,
                 from_no = known ? no.lanes & ~taken : no.lanes;
  return {condition.lanes | from_yes | from_no, condition.lanes != 0 ? condition.origin
                                                : from_yes != 0      ? yes.origin
                                                                     : no.origin};
}

/// Returns the result of redux and vote, under strict tracking: a value of any lane reaches all.
inline UndefinedValue spread(UndefinedValue from_any, uint32_t running) {
  return {(from_any.lanes & running) != 0 ? running : 0, from_any.origin};
}

/// Returns the undefined operands of an instruction whose result strict tracking does not follow.
template <typename ValueOf>
UndefinedValue lost_in(const ptx::Instruction& in, const ValueOf& value_of) {
  const bool exchanges = in.opcode == ptx::Opcode::Shfl || in.has(ptx::Trait::CombinesLanes);
  if (!exchanges && !in.has(ptx::Trait::EndsTracking)) return {};
  UndefinedValue all;
  const auto take = [&](const ptx::Operand& operand) {
    const UndefinedValue one = value_of(operand);
    if (one.lanes != 0) all.origin = one.origin;
    all.lanes |= one.lanes;
  };
  // A value that is shuffled, reduced or voted with is tracked on in the lanes that receive it;
  // lane indices and masks must be defined.
  for (size_t i = exchanges ? 2 : 0; i < in.operands.size(); ++i) take(in.operands[i]);
  for (const ptx::Operand& argument : in.call_arguments) take(argument);
  return all;
}

/// Set in UndefinedRegisters::bits under strict tracking: an undefined condition decides whether
/// the register is assigned, so it stays undefined.
inline constexpr uint64_t kStays = 1;

/// Returns the instructions that the branch may skip, if they only assign registers.
inline std::span<const ptx::Instruction> skipped_assignments(const ptx::Function& function,
                                                             const ptx::Instruction& branch) {
  if (branch.operands.size() != 1 || branch.operands[0].kind != ptx::Operand::Kind::Label) {
    return {};
  }
  const auto begin = static_cast<size_t>(&branch - function.body.data()) + 1;
  const size_t end = function.labels[branch.operands[0].label].instruction;
  if (end < begin) return {};
  const std::span skipped = std::span(function.body).subspan(begin, end - begin);
  const bool assigns = std::ranges::all_of(
      skipped, [](const ptx::Instruction& in) { return in.has(ptx::Trait::OnlyAssigns); });
  return assigns ? skipped : std::span<const ptx::Instruction>{};
}

template <typename Visit>
void for_each_result(const ptx::Operand& to, const Visit& visit) {
  if (to.kind == ptx::Operand::Kind::Register) visit(to.reg);
  for (const ptx::Operand& element : to.elements) for_each_result(element, visit);
}

}  // namespace gpuemu::emulator
