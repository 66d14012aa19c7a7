// Orders the value strategies of a run's cases: what finds faults that chance misses has cases of
// its own among the first 24.
#pragma once

#include <optional>
#include <vector>

#include "judge/cases/case.h"

namespace gpuemu {

/// The strategies in the order in which the covering array goes through them: some have a place of
/// their own, the others begin at one that the seed chooses.
std::vector<Strategy> in_order(const std::vector<Strategy>& strategies, uint64_t base_seed);

/// The row of the covering array that a case of one dtype is: the first ones, then every other one,
/// so that a short run has both. Nothing for a case that is left to chance.
std::optional<uint64_t> covering_row(uint64_t row);

/// Cases of one dtype before the covering array leaves every other one to chance.
inline constexpr uint64_t kCoveringFirst = 8;
/// Cases of one dtype whose strategies all follow from the order.
inline constexpr uint64_t kOrderedRows = 24;

/// The strategy of a case below kOrderedRows that is left to chance: its own, else the next one in
/// order that no case has had, else one again. Nothing for other cases.
std::optional<Strategy> value_of_row(const std::vector<Strategy>& ordered, uint64_t row);

/// Whether some input holds integers in cases of any dtype: beside floats it meets the numbers of
/// `thresholds`.
bool has_integer_inputs(const OpConfig& op);

/// What the plan's value strategy takes beside the seed: patterns of rows their turn, thresholds
/// the kernel's numbers, of which inputs of integers take the whole ones.
void set_value_parameters(const OpConfig& op, const Constants& constants, uint64_t row,
                          CasePlan& plan);

}  // namespace gpuemu
