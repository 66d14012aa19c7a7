#include "daemon/ci/case_samples.h"

namespace gpuemu {
namespace {

// More dots than this in a chart would hide each other.
constexpr size_t kSamplesMax = 512;

}  // namespace

void add_sample(const CaseReport& outcome, CiOp& op) {
  const ValidationResult& result = outcome.result;
  if (!result.error_stats || result.error_stats->count == 0) return;
  if (op.samples.size() >= kSamplesMax) return;
  op.samples.push_back({.elements = result.error_stats->count,
                        .max_diff = result.max_diff,
                        .bound_ratio = outcome.bound_ratio_max,
                        .values = result.repro_info->value_strategy,
                        .passed = result.passed});
}

}  // namespace gpuemu
