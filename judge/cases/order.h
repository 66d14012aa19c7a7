// Orders the value strategies of a run's cases. Strategies that find faults which random choice
// misses have reserved cases among the first 24.
#pragma once

#include <optional>
#include <vector>

#include "judge/cases/case.h"

namespace gpuemu {

/// Returns the strategies in the order in which the covering array uses them: some have reserved
/// rows, the others start at one drawn from the seed.
std::vector<Strategy> in_order(const std::vector<Strategy>& strategies, uint64_t base_seed);

/// Returns the row of the covering array for a case of one dtype: the first cases, then every other
/// one, so that a short run has both kinds. Nothing for a random case.
std::optional<uint64_t> covering_row(uint64_t row);

/// Cases of one dtype before every other case is random.
inline constexpr uint64_t kCoveringFirst = 8;
/// Cases of one dtype whose strategies all follow from the order.
inline constexpr uint64_t kOrderedRows = 24;

/// Returns the strategy of a random case below kOrderedRows: the reserved one, else the next unused
/// one in order, else a used one again. Nothing for other cases.
std::optional<Strategy> value_of_row(const std::vector<Strategy>& ordered, uint64_t row);

/// Returns whether some input holds integers in cases of any dtype; beside floats, it uses the
/// numbers of `thresholds`.
bool has_integer_inputs(const OpConfig& op);

/// Sets the parameters of the plan's value strategy: a counter for patterns of rows, or the
/// kernel's numbers for thresholds, of which integer inputs take the whole ones.
void set_value_parameters(const OpConfig& op, const Constants& constants, uint64_t row,
                          CasePlan& plan);

}  // namespace gpuemu
