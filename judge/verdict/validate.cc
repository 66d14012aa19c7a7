#include "judge/verdict/validate.h"

#include <algorithm>

#include <fmt/core.h>

#include "judge/bounds/float_format.h"
#include "judge/scan/mismatch_text.h"
#include "judge/scan/scan.h"
#include "judge/verdict/invariants.h"

namespace gpuemu {
namespace {

ValidationFailure failure_of(const Comparison& comparison, FindingKind kind, std::string message) {
  ValidationFailure failure;
  failure.kind = kind;
  failure.message = std::move(message);
  failure.output = comparison.output_name;
  return failure;
}

/// Reports a tensor whose size does not match its shape, which would be read beyond its end.
void check_size(const Comparison& comparison, const char* side, const TensorView& tensor,
                Verdict& verdict) {
  const auto expected = packed_bytes(tensor.dtype, tensor.shape);
  if (tensor.data.size() == expected) return;
  verdict.failures.push_back(failure_of(
      comparison, FindingKind::ShapeMismatch,
      fmt::format("the {} holds {} bytes, expected {} for shape {} of {}", side, tensor.data.size(),
                  expected, to_string(tensor.shape), name_of(tensor.dtype))));
}

/// Checks shape, dtype and size. Values are compared only if nothing is reported.
void check_metadata(const Comparison& comparison, Verdict& verdict) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  if (output.shape != reference.shape) {
    verdict.failures.push_back(
        failure_of(comparison, FindingKind::ShapeMismatch,
                   fmt::format("shape mismatch: output is {}, reference is {}",
                               to_string(output.shape), to_string(reference.shape))));
  } else {
    check_size(comparison, "output", output, verdict);
    if (verdict.failures.empty()) check_size(comparison, "reference", reference, verdict);
  }
  if (!comparison.reference_is_wide && output.dtype != reference.dtype) {
    verdict.failures.push_back(
        failure_of(comparison, FindingKind::DTypeMismatch,
                   fmt::format("dtype mismatch: output is {}, reference is {}",
                               name_of(output.dtype), name_of(reference.dtype))));
  }
}

/// Reports one failure per kind: the first fault, and the number of faults.
void report_kind(const Judge& judge, const Scan& scan, FindingKind kind, Verdict& verdict) {
  Fault first = Fault::None;
  MismatchPattern all;
  for (size_t i = 1; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    const MismatchPattern& tally = scan.faults[i];
    if (tally.count() == 0 || kind_of(fault, judge.legacy()) != kind) continue;
    if (all.count() == 0 || tally.first() < all.first()) first = fault;
    all.merge(tally);
  }
  if (first == Fault::None) return;
  const size_t index = all.first();
  const Comparison& comparison = judge.comparison();
  ValidationFailure failure = failure_of(comparison, kind, describe_fault(judge, first, all));
  failure.index = static_cast<int64_t>(index);
  failure.expected = element(comparison.reference, index);
  failure.actual = element(comparison.output, index);
  verdict.failures.push_back(std::move(failure));
}

void compare_values(const Comparison& comparison, Verdict& verdict) {
  const Judge judge(comparison);
  const bool floats = is_float(comparison.output.dtype);
  ErrorStats stats;
  const Scan scan = floats ? scan_floats(judge, fastest_scan(), stats) : scan_exact(judge);
  verdict.max_diff = scan.max_diff;
  if (floats) {
    verdict.max_rel_diff = scan.max_rel_diff;
    verdict.stats = stats;
  }
  if (scan.bound_ratio_max > 0) {
    verdict.bound_ratio_max = scan.bound_ratio_max;
    verdict.worst_index = static_cast<int64_t>(scan.worst_index);
  }
  for (const FindingKind kind :
       {FindingKind::ToleranceExceeded, FindingKind::NaNDetected, FindingKind::InfDetected}) {
    report_kind(judge, scan, kind, verdict);
  }
}

/// Several invariants may be violated: the first gives the message, the others are appended to it.
void check_invariants(const Comparison& comparison, Verdict& verdict) {
  std::optional<ValidationFailure> first;
  for (const InvariantSpec& spec : comparison.policy.invariants) {
    std::optional<ValidationFailure> found = check_invariant(comparison, spec);
    if (!found.has_value()) continue;
    if (first.has_value()) {
      first->message += "; " + found->message;
    } else {
      first = std::move(found);
    }
  }
  if (!first.has_value()) return;
  first->output = comparison.output_name;
  verdict.failures.push_back(std::move(*first));
}

}  // namespace

Verdict validate(const Comparison& comparison) {
  Verdict verdict;
  if (comparison.has_reference) {
    check_metadata(comparison, verdict);
    if (verdict.failures.empty()) compare_values(comparison, verdict);
  } else {
    check_size(comparison, "output", comparison.output, verdict);
    if (!verdict.failures.empty()) return verdict;
  }
  check_invariants(comparison, verdict);
  return verdict;
}

}  // namespace gpuemu
