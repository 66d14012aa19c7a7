// Results of now against those of a baseline (wire-protocol, section 3.8).
#pragma once

#include <vector>

#include "common/protocol/records.h"

namespace gpuemu {

/// The order of (op, seed) that the functions below expect, and in which the store gives baselines.
void sort_baseline(std::vector<ValidationResult>& results);

/// The result of the same op and seed, null when there is none.
const ValidationResult* same_case(const std::vector<ValidationResult>& baseline,
                                  const ValidationResult& current);
/// The result of the same case, else the first of the same op, as CompareBaseline matches.
const ValidationResult* matching_result(const std::vector<ValidationResult>& baseline,
                                        const ValidationResult& current);

/// `old` may be null: then nothing is a regression.
BaselineComparison compare_result(const ValidationResult& current, const ValidationResult* old);

}  // namespace gpuemu
