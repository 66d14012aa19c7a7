// Runs the case twice with shadows: once to find the wrong element, once to follow its history.
// Then runs it wherever it could give another result.
#include "daemon/explain/case_explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "daemon/campaign/campaign.h"
#include "daemon/case/case_report.h"
#include "daemon/execution/device_findings.h"
#include "judge/bounds/float_format.h"
#include "judge/cases/case.h"
#include "judge/explain/disagreement.h"
#include "judge/explain/exact_comparison.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// The most other kernels of the op whose value is computed: each costs one more run.
constexpr size_t kVariantsMax = 4;

class Explainer {
 public:
  Explainer(const ExplainTask& task, const ExplainMachines& machines)
      : task_(task), machines_(machines) {
    reply_.seed = task.plan.case_seed;
    reply_.op_name = task.op.name;
  }

  Result<ExplainResultReply> explain();

 private:
  Result<CaseReport> shadowed(const ShadowOptions& options);
  const ComparedShadow* choose(const CaseReport& outcome) const;
  /// Returns the property to explain if no value is wrong; null if there is none.
  const ExactProperty* property_of(const CaseReport& outcome) const;
  Result<ExplainResultReply> explain_element(const std::vector<ValidationFailure>& failures,
                                             const ComparedShadow& output,
                                             const WrongElement& element);
  Result<ExplainResultReply> explain_property(const ExactProperty& property);
  Result<ExplainResultReply> without_element(const CaseReport& outcome);
  void take_element(const WrongElement& element, const std::string& output);
  void take_history(const ExecutionShadow& history);
  void compare_sides(const ComparedShadow& output, const WrongElement& element);
  std::optional<double> value_on(Campaign& campaign, const std::string& kernel,
                                 const WrongElement& element) const;
  void vote_of_devices();
  DType dtype_of(const std::string& output) const;
  bool has_float_output() const;

  const ExplainTask& task_;
  const ExplainMachines& machines_;
  Campaign* emulator_ = nullptr;
  ExplainResultReply reply_;
};

Result<CaseReport> Explainer::shadowed(const ShadowOptions& options) {
  return emulator_->run_one(task_.op, task_.plan, {.extras = Extra::Shadows, .shadow = options},
                            task_.claim);
}

/// Returns the output to explain: the requested one, otherwise the first of the failing outputs
/// with a wrong element. Elements that nan_policy accepts do not count as wrong.
const ComparedShadow* Explainer::choose(const CaseReport& outcome) const {
  const auto& failures = outcome.result.failures;
  for (const ComparedShadow& one : outcome.extras.shadows->outputs) {
    const bool failed =
        std::ranges::find(failures, one.counts.name, &ValidationFailure::output) != failures.end();
    if (task_.output.empty() ? failed && one.worst.has_value() : one.counts.name == task_.output) {
      return &one;
    }
  }
  return nullptr;
}

const ExactProperty* Explainer::property_of(const CaseReport& outcome) const {
  for (const ExactProperty& one : outcome.extras.shadows->properties) {
    const bool wanted = !task_.property || one.finding.kind == *task_.property;
    if (wanted && (task_.output.empty() || one.finding.output == task_.output)) return &one;
  }
  return nullptr;
}

/// Returns true if no output is named.
bool Explainer::has_float_output() const {
  if (task_.output.empty()) return true;
  return std::ranges::any_of(task_.plan.outputs, [&](const CaseTensor& one) {
    return one.name == task_.output && is_float(one.dtype);
  });
}

DType Explainer::dtype_of(const std::string& output) const {
  const auto planned = std::ranges::find(task_.plan.outputs, output, &CaseTensor::name);
  return planned == task_.plan.outputs.end() ? task_.plan.dtype : planned->dtype;
}

void Explainer::take_element(const WrongElement& element, const std::string& output) {
  reply_.output = output;
  reply_.index = element.index;
  reply_.computed = element.computed;
  reply_.exact = element.exact;
  reply_.reference = element.reference;
  reply_.tolerance = element.tolerance;
  reply_.bound = element.bound;
}

void Explainer::take_history(const ExecutionShadow& history) {
  if (!history.origin.empty()) reply_.divergence = explained(history.origin.front());
  for (const ShadowStep& step : history.slice) reply_.slice.push_back(explained(step));
  reply_.other_decisions = history.other_decisions;
  if (!history.other_decision.empty()) {
    reply_.first_other_decision = explained(history.other_decision.front());
  }
  reply_.complete = history.complete;
}

/// Returns the element's value under another kernel; nothing if the run gives none, because the
/// kernel does not take the case or did not run to its end.
std::optional<double> Explainer::value_on(Campaign& campaign, const std::string& kernel,
                                          const WrongElement& element) const {
  CasePlan plan = task_.plan;
  if (!kernel.empty()) plan.kernel = kernel;
  const auto outcome = campaign.run_one(task_.op, plan, {.extras = Extra::Tensors}, task_.claim);
  if (!outcome) return std::nullopt;
  const NamedTensors& outputs = outcome->extras.tensors->outputs;
  const auto output = outputs.find(reply_.output);
  const auto index = static_cast<size_t>(element.index);
  if (output == outputs.end() || index >= static_cast<size_t>(output->second.count())) {
    return std::nullopt;
  }
  return gpuemu::element(view_of(output->second), index);
}

void Explainer::compare_sides(const ComparedShadow& output, const WrongElement& element) {
  DisputedElement disputed{.backend = machines_.own_backend,
                           .computed = element.computed,
                           .other_backend = machines_.other_backend,
                           .other = {},
                           .exact = {},
                           .others = {},
                           .reference = element.reference,
                           .tolerance = element.tolerance,
                           .broken_by_reference = output.broken_by_reference,
                           .broken_by_output = output.broken_by_output};
  if (element.known) disputed.exact = element.exact;
  if (!device_traits(machines_.own_backend).follows_rounding) {
    const auto own = value_on(machines_.own, reply_.kernel, element);
    if (!own) return;
    disputed.other = element.computed;
    disputed.computed = *own;
  } else if (!machines_.other_backend.empty()) {
    const auto other = machines_.other();
    if (other) disputed.other = value_on(**other, reply_.kernel, element);
  }
  size_t asked = 0;
  for (const std::string& name : task_.op.kernels) {
    if (name == reply_.kernel || asked == kVariantsMax) continue;
    ++asked;
    const auto value = value_on(*emulator_, name, element);
    if (value) disputed.others.push_back({"kernel " + name, *value});
  }
  reply_.disagreement = find_dissenter(disputed);
}

/// If the emulator finds nothing wrong, the device on which the case failed is alone.
void Explainer::vote_of_devices() {
  if (device_traits(machines_.own_backend).follows_rounding) return;
  const auto own = machines_.own.run_one(task_.op, task_.plan, {}, task_.claim);
  if (!own || own->result.passed) return;
  reply_.disagreement =
      Disagreement{machines_.own_backend,
                   fmt::format("only {} is wrong: the same kernel passes on the emulator, whose "
                               "values match the reference; compare compiler flags and "
                               "hardware",
                               machines_.own_backend),
                   {}};
  reply_.sentences.push_back("Vote: " + reply_.disagreement->sentence + ".");
}

/// Returns whether the finding is about a value of an integer output that is not derived from
/// floats. Integers that are, such as quantized values, may differ by 1 through rounding.
bool is_wrong_integer(const CasePlan& plan, const ValidationFailure& finding) {
  if (finding.kind != FindingKind::ToleranceExceeded) return false;
  const auto output = std::ranges::find(plan.outputs, finding.output, &CaseTensor::name);
  const auto has_floats = [](const CaseTensor& one) { return is_float(one.dtype); };
  return output != plan.outputs.end() && !is_float(output->dtype) &&
         std::ranges::none_of(plan.inputs, has_floats);
}

/// Returns what may be missing in gpuemu.toml for a value of an integer output that the kernel
/// derives from floats; "" for other findings.
std::string advice_about_integers(const OpConfig& op, const CasePlan& plan,
                                  const ValidationFailure& finding) {
  const auto made = std::ranges::find(plan.outputs, finding.output, &CaseTensor::name);
  const bool is_integer = made != plan.outputs.end() && !is_float(made->dtype) &&
                          finding.kind == FindingKind::ToleranceExceeded;
  if (!is_integer) return {};
  // Quantized values are narrow, indices are not.
  const bool is_narrow = byte_size(made->dtype) < byte_size(DType::Int32);
  const bool is_near =
      finding.expected && finding.actual && std::abs(*finding.expected - *finding.actual) <= 1;
  if (is_narrow && is_near && made->dtype != DType::Bool) {
    return fmt::format(
        "if '{}' holds rounded values, `tolerances = {{ {} = 1 }}` accepts a value rounded the "
        "other way at .5; otherwise compare the formula with the reference",
        finding.output, name_of(made->dtype));
  }
  const auto spec = std::ranges::find(op.outputs, finding.output, &TensorSpec::name);
  const auto keys = std::ranges::find_if(
      plan.inputs, [](const CaseTensor& input) { return is_float(input.dtype); });
  const bool may_tie = keys != plan.inputs.end() && spec != op.outputs.end() &&
                       spec->indices_of.empty() && !is_narrow;
  return fmt::format("compare indices, masks and constants with the reference{}",
                     may_tie ? fmt::format("; if '{0}' holds indices of '{1}', of which equal "
                                           "elements are equally right, declare '{0}' with "
                                           "`indices_of = \"{1}\"`",
                                           finding.output, keys->name)
                             : "");
}

/// Returns the reply if no element can be explained: the fault was not a value, or nothing was
/// wrong.
Result<ExplainResultReply> Explainer::without_element(const CaseReport& outcome) {
  reply_.verdict = outcome.result.passed ? ExplainVerdict::Passes : ExplainVerdict::Unknown;
  if (outcome.result.passed) {
    reply_.sentences = {"The case passes now: no output differs from its reference."};
    vote_of_devices();
  } else if (is_wrong_integer(task_.plan, outcome.result.failures.front())) {
    reply_.verdict = ExplainVerdict::Logic;
    reply_.output = outcome.result.failures.front().output;
    reply_.sentences = {
        fmt::format("'{}' is of integers, which nothing rounds: the kernel computes something else "
                    "than the reference. The finding is {}: {}",
                    reply_.output, name_of(outcome.result.failures.front().kind),
                    outcome.result.failures.front().message),
        "What to do: compare indices, masks and constants with the reference, and look for "
        "elements that several threads update: without an atomic all but one update are lost."};
  } else {
    const ValidationFailure& first = outcome.result.failures.front();
    reply_.sentences = {fmt::format("No value of a float output is wrong; the finding is {}: {}",
                                    name_of(first.kind), first.message)};
    const std::string advice = advice_about_integers(task_.op, task_.plan, first);
    if (!advice.empty()) reply_.sentences.push_back("What to do: " + advice);
  }
  return std::move(reply_);
}

Result<ExplainResultReply> Explainer::explain_element(
    const std::vector<ValidationFailure>& failures, const ComparedShadow& output,
    const WrongElement& element) {
  WrongElement at = element;
  take_element(at, output.counts.name);
  const auto second = shadowed({output.counts.name, at.index, at.block, task_.timeout_ms});
  if (!second) return second.error();
  at.verdict = with_history(at, second->extras.shadows->execution);
  reply_.verdict = at.verdict;
  take_history(second->extras.shadows->execution);
  reply_.sentences =
      sentences_of(at, reply_.output, dtype_of(reply_.output), second->extras.shadows->execution);
  const ValidationFailure* cause = cause_of_values(failures);
  if (cause != nullptr && at.verdict != ExplainVerdict::Passes) {
    reply_.verdict = ExplainVerdict::Unknown;
    reply_.sentences = {
        fmt::format("{}[{}] is {:.9g}, without any rounding it would be {:.9g}, the reference says "
                    "{:.9g}; {}.",
                    reply_.output, at.index, at.computed, at.exact, at.reference,
                    describe_cause(*cause)),
        fmt::format("That is: {}", cause->message)};
    return std::move(reply_);
  }
  // Rounding alone needs no comparison of the sides, and no side contradicts a right element.
  if (at.verdict == ExplainVerdict::Passes || at.verdict == ExplainVerdict::Rounding) {
    return std::move(reply_);
  }
  compare_sides(output, at);
  if (reply_.disagreement) {
    reply_.sentences.push_back("Vote: " + reply_.disagreement->sentence + ".");
  }
  return std::move(reply_);
}

Result<ExplainResultReply> Explainer::explain_property(const ExactProperty& property) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  WrongElement at = property.at.value_or(WrongElement{.computed = kNone, .exact = kNone});
  at.reference = property.finding.expected.value_or(kNone);
  take_element(at, property.finding.output);
  reply_.verdict = verdict_of(property);
  ExecutionShadow history;
  if (property.at) {
    const auto second = shadowed({property.finding.output, at.index, at.block, task_.timeout_ms});
    if (!second) return second.error();
    history = second->extras.shadows->execution;
    take_history(history);
  }
  reply_.sentences = sentences_of(property, history);
  return std::move(reply_);
}

Result<ExplainResultReply> Explainer::explain() {
  emulator_ = GPUEMU_TRY(machines_.emulator());
  const auto first = shadowed({.output = task_.output,
                               .element = task_.index.value_or(-1),
                               .block = 0,
                               .timeout_ms = task_.timeout_ms});
  if (!first) return first.error();
  reply_.kernel = first->kernel;
  for (const ComparedShadow& one : first->extras.shadows->outputs) {
    reply_.outputs.push_back(one.counts);
  }
  const ComparedShadow* output = choose(*first);
  const ExactProperty* property = property_of(*first);
  if (task_.property && property != nullptr) return explain_property(*property);
  if (output == nullptr) {
    if (property != nullptr) return explain_property(*property);
    if (has_float_output()) return without_element(*first);
    return error(ErrorCode::InvalidArgument, "'{}' is not a float output of '{}'", task_.output,
                 task_.op.name);
  }
  const auto& element = task_.index ? output->chosen : output->worst;
  if (!element && task_.index) {
    return error(ErrorCode::InvalidArgument,
                 "output '{}' has {} elements; there is none with index {}", output->counts.name,
                 output->counts.elements, *task_.index);
  }
  if (!element && property != nullptr) return explain_property(*property);
  if (!element) return without_element(*first);
  return explain_element(first->result.failures, *output, *element);
}

}  // namespace

Result<ExplainResultReply> explain_case(const ExplainTask& task, const ExplainMachines& machines) {
  return Explainer(task, machines).explain();
}

}  // namespace gpuemu
