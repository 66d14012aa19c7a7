#include "daemon/ci/compare_results.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gpuemu {
namespace {

// A difference counts as larger if it exceeds the old one by this factor and this amount.
constexpr double kGrowth = 1.1;
constexpr double kSlack = 1e-10;
constexpr double kSmallest = 1e-15;

std::pair<std::string_view, uint64_t> key_of(const ValidationResult& one) {
  return {one.op_name, one.seed};
}

}  // namespace

void sort_baseline(std::vector<ValidationResult>& results) {
  std::ranges::sort(results, {}, key_of);
}

const ValidationResult* same_case(const std::vector<ValidationResult>& baseline,
                                  const ValidationResult& current) {
  const auto at = std::ranges::lower_bound(baseline, key_of(current), {}, key_of);
  return at != baseline.end() && key_of(*at) == key_of(current) ? &*at : nullptr;
}

const ValidationResult* matching_result(const std::vector<ValidationResult>& baseline,
                                        const ValidationResult& current) {
  if (const ValidationResult* same = same_case(baseline, current)) return same;
  const auto first = std::ranges::lower_bound(
      baseline, std::pair(std::string_view(current.op_name), uint64_t{0}), {}, key_of);
  return first != baseline.end() && first->op_name == current.op_name ? &*first : nullptr;
}

BaselineComparison compare_result(const ValidationResult& current, const ValidationResult* old) {
  BaselineComparison comparison;
  comparison.op_name = current.op_name;
  comparison.seed = current.seed;
  comparison.current_max_diff = current.max_diff;
  comparison.current_passed = current.passed;
  if (old == nullptr) return comparison;
  comparison.baseline_max_diff = old->max_diff;
  comparison.baseline_passed = old->passed;
  comparison.relative_change =
      (current.max_diff - old->max_diff) / std::max(old->max_diff, kSmallest);
  const bool within = current.max_diff <= kGrowth * old->max_diff + kSlack;
  comparison.is_regression = !within || (old->passed && !current.passed);
  return comparison;
}

}  // namespace gpuemu
