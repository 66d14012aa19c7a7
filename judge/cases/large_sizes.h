// The large cases of an op, above the size of usual cases: which they are, when they run, and which
// declared sizes no case has.
#pragma once

#include <functional>
#include <vector>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Returns the size limits of an op on this backend.
SizeLimits size_limits(const Config& config, const OpConfig& op, const std::string& backend);

/// Returns whether some kernel accepts the case. Empty: all are accepted.
using AcceptsCase = std::function<bool(const CasePlan& plan)>;

/// Returns all dims at their largest together, then each dim that had to be lowered for that at its
/// largest alone; each lowered until it fits. No targets if usual cases reach every declared size.
LargeSizes large_sizes(const OpConfig& op, DType dtype, const SizeLimits& limits,
                       const AcceptsCase& accepts = {});

/// Counts the large cases before `row` among those of one dtype, and whether the row is one itself.
/// Each target occurs once within the first rows; after that there is one whenever the number of
/// cases has doubled, so that they take little of a long run.
struct LargeTurn {
  uint64_t before = 0;
  bool is_large = false;
};
LargeTurn large_turn(uint64_t row, size_t targets);
/// Returns all rows with a large case, in order.
std::vector<uint64_t> large_rows(size_t targets);

/// Sets dims, size strategy and values of large case number `turn`: first the targets themselves,
/// then odd sizes below them. Requires a target.
void choose_large(const OpConfig& op, const LargeSizes& large, uint64_t turn,
                  const std::vector<Strategy>& values, CasePlan& plan);

}  // namespace gpuemu
