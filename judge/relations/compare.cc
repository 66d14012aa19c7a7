#include "judge/relations/compare.h"

#include <cmath>

#include <fmt/core.h>

#include "common/base/text.h"
#include "common/numeric/element.h"
#include "judge/scan/mismatch_text.h"
#include "judge/scan/scan.h"

namespace gpuemu {
namespace {

/// For two values of which at least one is not finite.
bool non_finite_agree(double got, double expected, NanPolicy policy) {
  if (std::isnan(got) && std::isnan(expected)) return true;
  if (got == expected) return true;
  if (policy == NanPolicy::Any) return !std::isfinite(expected);
  return policy == NanPolicy::Class && !std::isfinite(got) && !std::isfinite(expected);
}

bool same_bytes(const Tensor& a, const Tensor& b, size_t index) {
  const size_t size = byte_size(a.dtype);
  return std::equal(a.data.begin() + static_cast<std::ptrdiff_t>(index * size),
                    a.data.begin() + static_cast<std::ptrdiff_t>((index + 1) * size),
                    b.data.begin() + static_cast<std::ptrdiff_t>(index * size));
}

Comparison comparison_of(const Agreement& agreement) {
  Comparison comparison;
  comparison.output_name = agreement.output;
  comparison.output = view_of(agreement.got);
  comparison.reference = view_of(agreement.expected);
  comparison.policy = agreement.policy;
  comparison.reference_input = agreement.reference_input;
  if (agreement.inputs == nullptr) return comparison;
  std::vector<double> wide;
  for (const auto& [name, tensor] : *agreement.inputs) {
    comparison.inputs[name] = view_of(tensor);
    if (!is_float(tensor.dtype)) continue;
    wide.resize(static_cast<size_t>(tensor.count()));
    widen_to_double(tensor.dtype, tensor.data, wide);
    for (const double value : wide) {
      if (!std::isfinite(value)) continue;
      double& magnitude = comparison.policy.input_abs_max;
      magnitude = std::max(magnitude, std::fabs(value));
    }
  }
  return comparison;
}

ValidationFailure shape_failure(const Agreement& agreement) {
  ValidationFailure failure{.kind = FindingKind::RelationViolation, .output = agreement.output};
  failure.message = fmt::format("the output is {}, expected {}", to_string(agreement.got.shape),
                                to_string(agreement.expected.shape));
  return failure;
}

}  // namespace

ValidationPolicy exact_policy() {
  ValidationPolicy policy;
  policy.nan_policy = NanPolicy::Match;
  return policy;
}

std::optional<ValidationFailure> find_disagreement(const Agreement& agreement) {
  const Tensor &got = agreement.got, &expected = agreement.expected;
  if (got.shape != expected.shape || got.dtype != expected.dtype) return shape_failure(agreement);
  const Comparison comparison = comparison_of(agreement);
  const ErrorBound bound(comparison);
  const NanPolicy policy = agreement.policy.nan_policy.value_or(NanPolicy::Match);
  // Integers reach this with unequal bytes; beyond 2^53 their doubles may still be equal.
  const auto agree = [&](double here, double there, double allowed) {
    if (!is_float(got.dtype)) return allowed > 0 && std::fabs(here - there) <= allowed;
    if (!std::isfinite(here) || !std::isfinite(there)) {
      return non_finite_agree(here, there, policy);
    }
    return here == there || std::fabs(here - there) <= allowed;
  };
  const Grid grid = grid_of(got.shape);
  MismatchPattern faults;
  const auto count = static_cast<size_t>(got.count());
  for (size_t i = 0; i < count; ++i) {
    if (same_bytes(got, expected, i) || (!agreement.free.empty() && agreement.free[i])) continue;
    const double here = element(comparison.output, i), there = element(comparison.reference, i);
    const double slack = agreement.slack.empty() ? 0 : agreement.slack[i];
    if (!agree(here, there, bound.at(i, there) + slack)) faults.add(i, grid);
  }
  if (faults.count() == 0) return std::nullopt;
  const size_t index = faults.first();
  ValidationFailure failure{.kind = FindingKind::RelationViolation, .output = agreement.output};
  failure.index = static_cast<int64_t>(index);
  failure.expected = element(comparison.reference, index);
  failure.actual = element(comparison.output, index);
  const std::string pattern = faults.pattern(grid);
  failure.message = fmt::format(
      "element {} of '{}': expected {:.9g}, got {:.9g} ({} of {}{}{})", place_of(index, got.shape),
      agreement.output, *failure.expected, *failure.actual, faults.count(),
      counted(static_cast<uint64_t>(count), "element"), pattern.empty() ? "" : "; ", pattern);
  return failure;
}

}  // namespace gpuemu
