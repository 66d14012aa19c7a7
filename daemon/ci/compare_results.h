// Compares current results with those of a baseline (wire-protocol, section 3.8).
#pragma once

#include <vector>

#include "common/protocol/records.gen.h"

namespace gpuemu {

/// Sorts by (op, seed), as the functions below require and as the store returns baselines.
void sort_baseline(std::vector<ValidationResult>& results);

/// Returns the result of the same op and seed; null if there is none.
const ValidationResult* same_case(const std::vector<ValidationResult>& baseline,
                                  const ValidationResult& current);
/// Returns the result of the same case, otherwise the first of the same op, as CompareBaseline
/// matches.
const ValidationResult* matching_result(const std::vector<ValidationResult>& baseline,
                                        const ValidationResult& current);

/// Compares one case. `old` may be null: then nothing is a regression.
BaselineComparison compare_result(const ValidationResult& current, const ValidationResult* old);

}  // namespace gpuemu
