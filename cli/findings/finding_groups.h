// Findings of many cases that are one fault: of one kind at one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/records.h"

namespace gpuemu::cli {

struct FindingGroup {
  const ValidationFailure* finding = nullptr;  ///< The finding of the smallest case.
  const ValidationResult* smallest = nullptr;  ///< The case with the fewest elements.
  const Diagnosis* diagnosis = nullptr;        ///< The first that a case has; null when none has.
  uint64_t cases = 0;
  /// Every one of its cases has a finding that can cause this one.
  bool is_consequence = true;
};

/// Findings of a kind at one source line are one group, without a line those of one output. Causes
/// stand before what follows from them, otherwise in the order in which they were found. The groups
/// point into `failures`.
std::vector<FindingGroup> group_findings(const std::vector<const ValidationResult*>& failures);

/// Whether the findings belong to one group.
bool is_same_fault(const ValidationFailure& one, const ValidationFailure& other);

}  // namespace gpuemu::cli
