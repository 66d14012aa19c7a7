// Groups findings of many cases that are one fault: the same kind at the same line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"

namespace gpuemu::cli {

struct FindingGroup {
  const ValidationFailure* finding = nullptr;  ///< The finding of the smallest case.
  const ValidationResult* smallest = nullptr;  ///< The case with the fewest elements.
  const Diagnosis* diagnosis = nullptr;        ///< The first that a case has; null if none has one.
  uint64_t cases = 0;
  /// Whether every one of its cases has a finding that can cause this one.
  bool is_consequence = true;
};

/// Groups findings of a kind by source line; findings without a line, by output. Causes come before
/// their consequences, otherwise groups are in the order in which they were found. The groups point
/// into `failures`.
std::vector<FindingGroup> group_findings(const std::vector<const ValidationResult*>& failures);

/// Whether the findings belong to one group.
bool is_same_fault(const ValidationFailure& one, const ValidationFailure& other);

}  // namespace gpuemu::cli
