#include "daemon/explain/failure_reasons.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <tuple>

#include "common/base/service_limits.h"
#include "common/base/shell_word.h"
#include "common/config/config.h"
#include "common/numeric/element.h"
#include "common/protocol/records.gen.h"
#include "common/protocol/replies.gen.h"
#include "daemon/case/reproduction.h"
#include "daemon/execution/device_findings.h"
#include "judge/cases/case.h"
#include "judge/explain/exact_comparison.h"
#include "judge/scan/mismatch_text.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

bool is_about_values(FindingKind kind) {
  constexpr FindingKind kKinds[] = {FindingKind::ToleranceExceeded, FindingKind::NaNDetected,
                                    FindingKind::InfDetected, FindingKind::InvariantViolation,
                                    FindingKind::RelationViolation};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

/// Returns whether the finding is a violated invariant or relation, which concerns more than one
/// value.
bool is_property(FindingKind kind) {
  return kind == FindingKind::InvariantViolation || kind == FindingKind::RelationViolation;
}

/// Inputs up to this size do not overflow a correct kernel.
constexpr double kModest = 16;

/// Returns whether the kernel gives NaN or infinity where the reference has a number.
bool is_overflow(const ValidationFailure& failure) {
  const bool is_of_class =
      failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
  return is_of_class && std::isfinite(failure.expected.value_or(NAN)) &&
         !std::isfinite(failure.actual.value_or(0));
}

/// Suggests the `range` that avoids an overflow: that of the input with the largest value. "" if an
/// input contains NaN or infinity itself, or no input is large.
std::string range_hint(const OpConfig& op, const CasePlan& plan) {
  std::string largest;
  double most = kModest;
  for (const auto& [name, tensor] : make_inputs(op, plan)) {
    if (!is_float(tensor.dtype)) continue;
    std::vector<double> values(static_cast<size_t>(element_count(tensor.shape)));
    widen_to_double(tensor.dtype, tensor.data, values);
    for (const double value : values) {
      if (!std::isfinite(value)) return "";
      if (std::fabs(value) <= most) continue;
      most = std::fabs(value);
      largest = name;
    }
  }
  if (largest.empty()) return "";
  const auto spec = std::ranges::find(op.inputs, largest, &TensorSpec::name);
  const bool has_range = spec != op.inputs.end() && spec->range;
  return fmt::format(
      "; '{}' has values up to {:.3g} here: a {}`range` for it leaves out what callers never pass",
      largest, most, has_range ? "narrower " : "");
}

Diagnosis follows_from(const ValidationFailure& cause) {
  return {ExplainVerdict::Skipped,
          fmt::format("{}, then its formula can be judged", describe_cause(cause)),
          {},
          {}};
}

/// Returns the number of elements of all tensors: a shadow takes many times the memory of its
/// element.
int64_t elements_of(const CasePlan& plan) {
  int64_t sum = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) sum += element_count(tensor.shape);
  }
  return sum;
}

std::string place_text(const ExplainedStep& step) {
  return step.line != 0 ? fmt::format("{}:{}", step.file, step.line)
                        : fmt::format("PTX line {}", step.ptx_line);
}

std::string triple(const std::vector<uint64_t>& of) {
  constexpr size_t kAxes = 3;
  return of.size() == kAxes ? fmt::format("({},{},{})", of[0], of[1], of[2]) : "?";
}

std::string operand_text(const ExplainedStep& step) {
  std::string text;
  for (const ExplainedValue& value : step.operands) {
    text += (text.empty() ? " of " : " and ") + number_text(value.computed);
    const bool both_nan = std::isnan(value.exact) && std::isnan(value.computed);
    if (value.exact != value.computed && !both_nan) {
      text += fmt::format(" (exactly {})", number_text(value.exact));
    }
  }
  return text;
}

/// Formats a step as "sub.rn.f32 %f9, %f7, %f8 of 1000 and 999 at variance.cu:14 in thread (0,0,0)
/// of block (0,0,0)".
std::string step_text(const ExplainedStep& step) {
  return fmt::format("{}{} at {} in thread {} of block {}", step.instruction, operand_text(step),
                     place_text(step), triple(step.thread), triple(step.block));
}

std::string where_text(const ExplainResultReply& explained) {
  if (explained.divergence && explained.verdict != ExplainVerdict::Logic) {
    return fmt::format("; it begins with {}", step_text(*explained.divergence));
  }
  const auto last = std::ranges::find_if(
      explained.slice, [](const ExplainedStep& step) { return step.kind != StepKind::Store; });
  if (explained.verdict == ExplainVerdict::Logic && last != explained.slice.end()) {
    return fmt::format("; its last instruction is {}", step_text(*last));
  }
  return "";
}

class Diagnoser {
 public:
  Diagnoser(const Config& config, const ExplainMachines& machines, const DiagnoseOptions& options)
      : config_(config), machines_(machines), options_(options) {}

  void look_at(ValidationResult& result);
  /// Adds a single note on how many findings were not explained.
  void close();

 private:
  struct Unexplained {
    ValidationFailure* failure = nullptr;
    uint64_t seed = 0;
    std::string op;
  };

  bool is_over() const { return options_.cancel != nullptr && *options_.cancel; }
  void look_at(const OpConfig& op, const CasePlan& plan, const ValidationResult& result,
               ValidationFailure& failure);
  std::optional<Diagnosis> diagnosis_of(const ExplainTask& task,
                                        const ValidationFailure& failure) const;
  std::string reason_to_skip(const CasePlan& plan) const;

  const Config& config_;
  const ExplainMachines& machines_;
  const DiagnoseOptions& options_;
  const Clock::time_point end_ = Clock::now() + std::chrono::milliseconds(kDiagnoseMsMax);
  std::set<std::tuple<std::string, DType, FindingKind>> seen_, caused_;
  Unexplained first_unexplained_;
  size_t unexplained_ = 0;
};

std::string Diagnoser::reason_to_skip(const CasePlan& plan) const {
  const int64_t elements = elements_of(plan);
  if (elements > kDiagnosedElementsMax) {
    return fmt::format("the case has {} elements, reports examine at most {}", elements,
                       kDiagnosedElementsMax);
  }
  if (Clock::now() >= end_) return "no time was left for it";
  return "";
}

std::string command_text(uint64_t seed, const std::string& op) {
  return fmt::format("; run `gpuemu explain {} --op {}`", seed, shell_word(op));
}

std::string two_formulas(uint64_t seed, const std::string& op) {
  return fmt::format(
      "{}: the kernel's formula is not the reference's there, by no more than that test accepts{}",
      name_of(ExplainVerdict::Logic), command_text(seed, op));
}

/// Names the explained element, as in "of element 17 [0, 17] of 'y': ". The diagnosis explains the
/// worst element, while a finding may name the first: "" if both are the same.
std::string element_text(const ExplainResultReply& explained, const CasePlan& plan,
                         const ValidationFailure& failure) {
  const auto output = std::ranges::find(plan.outputs, explained.output, &CaseTensor::name);
  if (output == plan.outputs.end()) return "";
  if (explained.output == failure.output && failure.index == explained.index) return "";
  return fmt::format(
      "of element {} of '{}': ", place_of(static_cast<size_t>(explained.index), output->shape),
      explained.output);
}

/// Returns nothing for findings that only the device can see.
std::optional<Diagnosis> Diagnoser::diagnosis_of(const ExplainTask& task,
                                                 const ValidationFailure& failure) const {
  const FindingKind kind = failure.kind;
  const std::string command = command_text(task.plan.case_seed, task.op.name);
  const std::string reason = reason_to_skip(task.plan);
  if (!reason.empty()) return Diagnosis{ExplainVerdict::Skipped, reason + command, {}, {}};
  auto explained = explain_case(task, machines_);
  if (!explained) {
    return Diagnosis{ExplainVerdict::Skipped, explained.error().message + command, {}, {}};
  }
  if (explained->output.empty() && !explained->disagreement) {
    if (is_property(kind)) return std::nullopt;
    const std::string why = explained->verdict == ExplainVerdict::Passes
                                ? "the case passes when rerun alone: the failure depends on thread "
                                  "timing or on earlier "
                                  "launches"
                                : "the run without rounding did not finish" + command;
    return Diagnosis{ExplainVerdict::Skipped, why, {}, {}};
  }
  return Diagnosis{explained->verdict,
                   note_of(*explained, kind, element_text(*explained, task.plan, failure)),
                   std::move(explained->divergence), std::move(explained->disagreement)};
}

void Diagnoser::look_at(const OpConfig& op, const CasePlan& plan, const ValidationResult& result,
                        ValidationFailure& failure) {
  const auto output = std::ranges::find(plan.outputs, failure.output, &CaseTensor::name);
  if (output == plan.outputs.end() || !is_float(output->dtype)) return;
  if (const ValidationFailure* cause = cause_of_values(result.failures)) {
    if (caused_.emplace(op.name, plan.dtype, failure.kind).second) {
      failure.diagnosis = follows_from(*cause);
    }
    return;
  }
  if (!seen_.emplace(op.name, plan.dtype, failure.kind).second) return;
  if (seen_.size() > kDiagnosesMax) {
    if (unexplained_++ == 0) first_unexplained_ = {&failure, plan.case_seed, op.name};
    return;
  }
  ExplainTask task{.config = config_,
                   .op = op,
                   .plan = plan,
                   .output = failure.output,
                   .index = {},
                   .claim = options_.claim,
                   .timeout_ms = kDiagnosedCaseMsMax};
  // The worst element is explained, but one of the finding's own kind.
  const bool mixed = std::ranges::any_of(result.failures, [&](const ValidationFailure& other) {
    return other.output == failure.output && is_about_values(other.kind) &&
           other.kind != failure.kind;
  });
  if (mixed && !is_property(failure.kind)) task.index = failure.index;
  if (is_property(failure.kind)) task.property = failure.kind;
  failure.diagnosis = diagnosis_of(task, failure);
  const bool is_numerical =
      failure.diagnosis && failure.diagnosis->verdict == ExplainVerdict::Numerical;
  if (is_numerical && is_overflow(failure)) failure.diagnosis->note += range_hint(op, plan);
  // A case that passed with a warning must not be called wrong.
  const bool is_logic = failure.diagnosis && failure.diagnosis->verdict == ExplainVerdict::Logic;
  if (result.passed && is_logic) {
    failure.diagnosis->note = two_formulas(plan.case_seed, op.name);
    failure.diagnosis->disagreement.reset();
  }
}

void Diagnoser::close() {
  if (unexplained_ == 0) return;
  const std::string left = unexplained_ == 1
                               ? "this one was not"
                               : fmt::format("this and {} later ones were not", unexplained_ - 1);
  first_unexplained_.failure->diagnosis =
      Diagnosis{ExplainVerdict::Skipped,
                fmt::format("{} other findings of this run were explained, {}{}", kDiagnosesMax,
                            left, command_text(first_unexplained_.seed, first_unexplained_.op)),
                {},
                {}};
}

void Diagnoser::look_at(ValidationResult& result) {
  std::vector<ValidationFailure>& told = result.passed ? result.warnings : result.failures;
  if (told.empty() || is_over() || !result.repro_info || !result.repro_info->base_seed) return;
  const OpConfig* op = config_.find_op(result.op_name);
  if (op == nullptr || op->mode != ExecutionMode::Kernel) return;
  const auto plan = plan_from(*op, *result.repro_info);
  if (!plan) return;
  for (ValidationFailure& one : told) {
    if (is_about_values(one.kind) && !is_over()) look_at(*op, *plan, result, one);
  }
}

}  // namespace

std::string note_of(const ExplainResultReply& explained, FindingKind kind,
                    const std::string& element) {
  if (explained.output.empty() && explained.disagreement) {
    return "devices: " + explained.disagreement->sentence;
  }
  const ExplainVerdict verdict = explained.verdict;
  std::string text = fmt::format("{}: {}", name_of(verdict), element);
  if (is_property(kind)) {
    text += verdict == ExplainVerdict::Logic
                ? "it would not hold without rounding either"
                : "without rounding it would hold, the arithmetic loses it";
    return text + where_text(explained);
  }
  if (verdict == ExplainVerdict::Logic) {
    text += "the kernel computes a different formula; higher precision would not help";
  }
  if (verdict == ExplainVerdict::Numerical) {
    text += "the formula is right, its arithmetic loses the value";
  }
  if (verdict == ExplainVerdict::Rounding) {
    text += fmt::format("the value is as exact as its type allows, so allow more than {:.3g}",
                        explained.tolerance);
  }
  if (verdict == ExplainVerdict::Unknown) text += "formula and arithmetic cannot be told apart";
  text += where_text(explained);
  if (explained.disagreement) text += "; vote: " + explained.disagreement->sentence;
  return text;
}

void diagnose(const Config& config, const ExplainMachines& machines,
              const std::vector<ValidationResult*>& results, const DiagnoseOptions& options) {
  Diagnoser diagnoser(config, machines, options);
  for (ValidationResult* result : results) diagnoser.look_at(*result);
  diagnoser.close();
}

}  // namespace gpuemu
