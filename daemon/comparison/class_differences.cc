#include "daemon/comparison/class_differences.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "common/base/service_limits.h"
#include "common/numeric/element.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_request.h"
#include "daemon/case/compared_values.h"
#include "judge/bounds/error_bound.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

constexpr double kTiny = 0x1p-116;
constexpr auto kListedMost = static_cast<size_t>(kDiagnosedElementsMax);

}  // namespace

bool has_tiny_inputs(const Comparison& comparison) {
  const double magnitude = comparison.policy.input_abs_max;
  return magnitude > 0 && magnitude <= kTiny;
}

void note_class_differences(const CaseRequest& request, const Comparison& comparison,
                            const Verdict& verdict, ComparedValues& values) {
  Exceeding& exceeding = values.exceeding;
  exceeding.has_tiny_inputs = has_tiny_inputs(comparison) && !is_strict(request);
  const bool differs = std::ranges::any_of(verdict.failures, [](const auto& failure) {
    return failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
  });
  const bool is_comparable = comparison.output.shape == comparison.reference.shape;
  if (!differs || !is_comparable || !is_float(comparison.output.dtype)) return;
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const ErrorBound bound(comparison);
  std::vector<ExceedingElement> other_class, one_number;
  bool may_pass = true;
  const auto count = static_cast<size_t>(element_count(output.shape));
  for (size_t i = 0; i < count; ++i) {
    const double computed = element(output, i), expected = element(reference, i);
    const bool is_number = std::isfinite(computed), is_expected = std::isfinite(expected);
    if (is_number && is_expected) continue;
    if (computed == expected || (std::isnan(computed) && std::isnan(expected))) continue;
    ++values.in_other_class;
    const bool has_one = is_number || is_expected;
    may_pass = may_pass && other_class.size() + one_number.size() < kListedMost &&
               (!has_one || (is_expected && exceeding.has_tiny_inputs));
    if (!may_pass) continue;
    (has_one ? one_number : other_class)
        .push_back({.output = comparison.output_name,
                    .index = i,
                    .computed = computed,
                    .reference = expected,
                    .tolerance = is_expected ? bound.at(i, expected) : 0});
  }
  if (!may_pass) return;
  std::ranges::move(other_class, std::back_inserter(exceeding.other_class));
  std::ranges::move(one_number, std::back_inserter(exceeding.one_number));
}

}  // namespace gpuemu
