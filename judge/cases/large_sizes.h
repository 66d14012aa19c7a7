// The large cases of an op: those above the size of usual cases. Which they are, when they come,
// and which declared sizes no case has.
#pragma once

#include <functional>
#include <vector>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Where an op's sizes end on this backend.
SizeLimits size_limits(const Config& config, const OpConfig& op, const std::string& backend);

/// Whether some kernel takes the case; empty: all are taken.
using AcceptsCase = std::function<bool(const CasePlan& plan)>;

/// All dims at their largest together, then each dim that was lowered for that by itself; every one
/// lowered until it fits. No targets where usual cases reach every declared size.
LargeSizes large_sizes(const OpConfig& op, DType dtype, const SizeLimits& limits,
                       const AcceptsCase& accepts = {});

/// Counts the large cases before `row` among those of one dtype, and says whether it is one itself.
/// Each target comes once within the first rows; from then on there is one whenever the number of
/// cases has doubled, so that they cost little of a long run.
struct LargeTurn {
  uint64_t before = 0;
  bool is_large = false;
};
LargeTurn large_turn(uint64_t row, size_t targets);
/// All rows with a large case, in their order.
std::vector<uint64_t> large_rows(size_t targets);

/// Sets dims, sizes' strategy and values of the large case number `turn`: the targets as they are,
/// then odd sizes below them. REQUIRES: there is a target.
void choose_large(const OpConfig& op, const LargeSizes& large, uint64_t turn,
                  const std::vector<Strategy>& values, CasePlan& plan);

}  // namespace gpuemu
