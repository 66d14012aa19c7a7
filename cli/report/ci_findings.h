// The faults in a CI run: its findings grouped by op, kind and line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/findings/finding_groups.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

struct CiFinding {
  std::string op_name;
  FindingGroup group;
  uint64_t cases = 0;      ///< All cases of the op, in every dtype.
  bool all_listed = true;  ///< False: more cases than group.cases may have this fault.
  /// Findings of the same cases that this one can cause: "ToleranceExceeded (7 cases)".
  std::vector<std::string> consequences;
  /// The case to illustrate: the smallest with wrong values and enough elements to show where.
  const ValidationResult* drawn = nullptr;
};

/// Returns the faults in the order of the ops; causes before their consequences. They point into
/// `summary`.
std::vector<CiFinding> ci_findings(const CiRunSummary& summary);

/// Returns "43 of 64 cases"; "at least 43 of 64 cases" if not every failing case is listed.
std::string cases_text(const CiFinding& finding);

/// Returns the finding of the smallest case, with the diagnosis of the first case that has one.
ValidationFailure diagnosed(const CiFinding& finding);

/// Returns "[OutOfBounds] gemm: 43 of 64 cases; reads 4 bytes at byte offset 64 of 'a', which has
/// 64 bytes".
std::string finding_line(const CiFinding& finding);

}  // namespace gpuemu::cli
