#include "judge/explain/exact_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/text.h"
#include "common/numeric/element.h"
#include "judge/bounds/error_bound.h"
#include "judge/bounds/float_format.h"
#include "judge/explain/shadow_options.h"
#include "judge/verdict/invariants.h"

namespace gpuemu {
namespace {
using Kind = ShadowStep::Kind;

/// Within this many units in the last place of the exact value, no kernel could be much better.
constexpr double kOrdinaryUlps = 16;
/// If both formula and arithmetic are wrong, the one with an error larger by this factor is blamed.
constexpr double kByFar = 4;

// The wire's enumerators equal those of the device.
static_assert(static_cast<int>(kLastStepKind) == static_cast<int>(ShadowStep::Kind::Grows));
static_assert(static_cast<int>(StepKind::Cancels) == static_cast<int>(ShadowStep::Kind::Cancels));

bool is_wrong(double computed, double reference, double tolerance) {
  if (std::isnan(computed) || std::isnan(reference)) {
    return std::isnan(computed) != std::isnan(reference);
  }
  if (std::isinf(computed) || std::isinf(reference)) return computed != reference;
  return !(std::fabs(computed - reference) <= tolerance);
}

ExplainVerdict judge(const WrongElement& at, DType dtype) {
  if (!at.known) return ExplainVerdict::Logic;  // Nothing was rounded.
  if (!std::isfinite(at.reference)) {
    return std::isfinite(at.exact) ? ExplainVerdict::Logic : ExplainVerdict::Numerical;
  }
  if (!std::isfinite(at.exact)) {
    return std::isfinite(at.computed) ? ExplainVerdict::Numerical : ExplainVerdict::Unknown;
  }
  const double formula = std::fabs(at.exact - at.reference);
  if (!std::isfinite(at.computed)) {
    return formula > at.tolerance ? ExplainVerdict::Logic : ExplainVerdict::Numerical;
  }
  const double arithmetic = std::fabs(at.computed - at.exact);
  if (formula > at.tolerance && formula * kByFar > arithmetic) return ExplainVerdict::Logic;
  const double ordinary = kOrdinaryUlps * ulp_at(format_of(dtype), at.exact);
  return arithmetic <= ordinary ? ExplainVerdict::Rounding : ExplainVerdict::Numerical;
}

/// Returns how wrong the element is, as a multiple of the tolerance.
double use_of(const WrongElement& at) {
  if (!std::isfinite(at.computed) || !std::isfinite(at.reference)) return INFINITY;
  return std::fabs(at.computed - at.reference) / at.tolerance;
}

WrongElement element_of(const TensorView& output, const ElementShadow& shadow, size_t index) {
  WrongElement at;
  at.index = static_cast<int64_t>(index);
  at.computed = element(output, index);
  at.known = shadow.known != 0;
  at.exact = at.known ? shadow.high + shadow.low : at.computed;
  at.bound = at.known ? shadow.bound : 0;
  at.block = shadow.block;
  return at;
}

/// The reference is checked like an output: both must satisfy the invariants.
void name_broken_invariants(const Comparison& comparison, ComparedShadow& made) {
  if (comparison.output.shape != comparison.reference.shape) return;
  Comparison expected = comparison;
  expected.output = comparison.reference;
  for (const InvariantSpec& spec : comparison.policy.invariants) {
    const bool output = check_invariant(comparison, spec).has_value();
    const bool reference = check_invariant(expected, spec).has_value();
    if (output == reference) continue;
    std::string& name = output ? made.broken_by_output : made.broken_by_reference;
    if (name.empty()) name = name_of(spec.kind);
  }
}

std::string place_text(const ShadowStep& step) {
  return step.line != 0 ? fmt::format("{}:{}", step.file, step.line)
                        : fmt::format("PTX line {}", step.ptx_line);
}

std::string thread_text(const ShadowStep& step) {
  std::string text =
      fmt::format("thread ({},{},{}) of block ({},{},{})", step.thread.x, step.thread.y,
                  step.thread.z, step.block.x, step.block.y, step.block.z);
  if (step.visit > 1) text += fmt::format(", the {}th time it comes there", step.visit);
  return text;
}

std::string operand_text(const ShadowStep& step) {
  std::string text;
  for (const ShadowValue& value : step.operands) {
    text += fmt::format("{}{} (exactly {})", text.empty() ? "" : " and ",
                        number_text(value.computed), number_text(value.exact));
  }
  return text;
}

std::string what_happens(const ShadowStep& step) {
  switch (step.kind) {
    case Kind::Cancels:
      return "subtracts nearly equal values, so that only their rounding errors remain";
    case Kind::Absorbs:
      return "adds to a value so large that most of the addend is rounded away";
    case Kind::Overflows:
      return "makes an infinity or a NaN of finite values";
    case Kind::Coarse:
      return "rounds to a format that holds too few digits for what follows";
    case Kind::Grows:
      return "adds one small error to many others";
    default:
      return "magnifies the errors of its operands";
  }
}

std::string what_to_do(Kind kind) {
  switch (kind) {
    case Kind::Cancels:
      return "reorder the formula so that the difference is taken first (subtract the mean before "
             "squaring, factor differences of squares, use expm1 or log1p), or compute these "
             "values "
             "in a wider type";
    case Kind::Absorbs:
      return "accumulate in a wider type, or in several partial sums, pairwise or compensated";
    case Kind::Overflows:
      return "scale first: subtract the maximum before exp, divide before squaring, or use a wider "
             "type";
    case Kind::Coarse:
      return "keep the value in a wider type until the end";
    case Kind::Grows:
      return "accumulate in a wider type or in fewer steps";
    default:
      return "reorder the formula so that this operation comes before the rounding, or compute it "
             "in a wider type";
  }
}

void add_origin(const ExecutionShadow& history, std::vector<std::string>& to) {
  if (history.origin.empty()) return;
  const ShadowStep& step = history.origin.front();
  to.push_back(fmt::format("The error begins at {} in {}: {} {}.", place_text(step),
                           thread_text(step), step.instruction, what_happens(step)));
  to.push_back(fmt::format("There {} gives {}, exactly {}.",
                           step.operands.empty() ? "it" : operand_text(step),
                           number_text(step.result.computed), number_text(step.result.exact)));
  to.push_back(fmt::format("What to do: {}.", what_to_do(step.kind)));
}

/// Adds the loads; several loads on one source line are named together.
void add_loads(const ExecutionShadow& history, std::vector<std::string>& to) {
  std::vector<std::pair<std::string, uint64_t>> places;
  for (const ShadowStep& step : history.slice) {
    if (step.kind != Kind::Load) continue;
    const std::string place = place_text(step);
    const auto known = std::ranges::find(places, place, &std::pair<std::string, uint64_t>::first);
    if (known == places.end()) {
      places.emplace_back(place, step.count);
    } else {
      known->second += step.count;
    }
  }
  std::string text;
  for (const auto& [place, count] : places) {
    text +=
        fmt::format("{}{} loaded at {}", text.empty() ? "" : ", ", counted(count, "value"), place);
  }
  if (!text.empty()) to.push_back(fmt::format("The element is made of {}.", text));
}

void add_decision(const ExecutionShadow& history, std::vector<std::string>& to) {
  if (history.other_decision.empty()) return;
  const ShadowStep& step = history.other_decision.front();
  to.push_back(fmt::format(
      "{} would have gone the other way without rounding, the "
      "first at {}: {}.",
      counted(history.other_decisions, "comparison"), place_text(step), step.instruction));
}
}  // namespace

std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

ComparedShadow compare_shadow(const Comparison& comparison, std::span<const ElementShadow> shadows,
                              const ShadowOptions& options) {
  ComparedShadow made;
  made.counts.name = comparison.output_name;
  made.counts.elements = shadows.size();
  const ErrorBound bound(comparison);
  name_broken_invariants(comparison, made);
  double worst = -1;
  for (size_t i = 0; i < shadows.size(); ++i) {
    WrongElement at = element_of(comparison.output, shadows[i], i);
    at.reference = element(comparison.reference, i);
    // A value that is not finite has no bound; the others are compared with the output's bound.
    const double magnitude = std::isfinite(at.reference) ? at.reference : at.computed;
    at.tolerance = std::isfinite(magnitude) ? bound.at(i, magnitude) : 0;
    const bool wrong = is_wrong(at.computed, at.reference, at.tolerance);
    if (wrong) at.verdict = judge(at, comparison.output.dtype);
    if (options.output == comparison.output_name && options.element == at.index) made.chosen = at;
    if (!wrong) continue;
    ++made.counts.wrong;
    if (at.verdict == ExplainVerdict::Logic) ++made.counts.logic;
    if (at.verdict == ExplainVerdict::Numerical) ++made.counts.numerical;
    if (at.verdict == ExplainVerdict::Rounding) ++made.counts.rounding;
    if (use_of(at) <= worst) continue;
    worst = use_of(at);
    made.worst = at;
  }
  return made;
}

std::vector<double> exact_values(const TensorView& output, std::span<const ElementShadow> shadows) {
  std::vector<double> values(shadows.size());
  for (size_t i = 0; i < shadows.size(); ++i) values[i] = element_of(output, shadows[i], i).exact;
  return values;
}

std::vector<ExactProperty> judge_exactly(const Comparison& comparison,
                                         std::span<const ElementShadow> shadows) {
  std::vector<ExactProperty> all;
  const std::vector<double> values = exact_values(comparison.output, shadows);
  Comparison exact = comparison;
  exact.output = {DType::Float64, comparison.output.shape, std::as_bytes(std::span(values))};
  for (const InvariantSpec& spec : comparison.policy.invariants) {
    const auto found = check_invariant(comparison, spec);
    if (!found) continue;
    ExactProperty property{*found, !check_invariant(exact, spec).has_value(), {}};
    property.finding.output = comparison.output_name;
    if (found->index && static_cast<size_t>(*found->index) < shadows.size()) {
      const auto index = static_cast<size_t>(*found->index);
      property.at = element_of(comparison.output, shadows[index], index);
    }
    all.push_back(std::move(property));
  }
  return all;
}

ExplainVerdict verdict_of(const ExactProperty& property) {
  return property.holds ? ExplainVerdict::Numerical : ExplainVerdict::Logic;
}

std::vector<std::string> sentences_of(const ExactProperty& property,
                                      const ExecutionShadow& history) {
  std::vector<std::string> all = {property.finding.message + "."};
  if (!property.holds) {
    all.push_back(
        "The property fails even in exact arithmetic: the kernel's formula is wrong, not its "
        "precision.");
    return all;
  }
  all.push_back(
      "Without any rounding it would hold: the formula has the property, the arithmetic of the "
      "kernel loses it.");
  add_origin(history, all);
  add_decision(history, all);
  return all;
}

namespace {
/// Includes 0 / 0, the root of a negative number and similar operations: without rounding, nothing
/// else makes a NaN from finite values.
bool divides_by_zero(const ShadowStep& step) {
  const auto is_zero = [](const ShadowValue& operand) { return operand.exact == 0; };
  const std::string& text = step.instruction;
  const bool by_constant = text.starts_with("div.") && (text.ends_with(", 0f00000000") ||
                                                        text.ends_with(", 0d0000000000000000"));
  return std::isnan(step.result.exact) || by_constant ||
         std::ranges::any_of(step.operands, is_zero);
}
}  // namespace

ExplainVerdict with_history(const WrongElement& element, const ExecutionShadow& history) {
  const bool open = element.verdict == ExplainVerdict::Unknown;
  if (!open || history.origin.empty()) return element.verdict;
  const ShadowStep& origin = history.origin.front();
  if (origin.kind != Kind::Overflows) return ExplainVerdict::Logic;
  return divides_by_zero(origin) ? ExplainVerdict::Logic : ExplainVerdict::Numerical;
}

std::vector<std::string> sentences_of(const WrongElement& at, const std::string& output,
                                      DType dtype, const ExecutionShadow& history) {
  std::vector<std::string> all;
  const std::string values = fmt::format(
      "{}[{}] is {}, without any rounding it would be {}, the reference says {}", output, at.index,
      number_text(at.computed), number_text(at.exact), number_text(at.reference));
  switch (at.verdict) {
    case ExplainVerdict::Passes:
      all.push_back(fmt::format("{} (allowed: {:.3g} apart): nothing is wrong with this element.",
                                values, at.tolerance));
      break;
    case ExplainVerdict::Logic:
      all.push_back(
          fmt::format("{}: the kernel computes a different formula than the "
                      "reference; higher precision would not help.",
                      values));
      add_loads(history, all);
      add_decision(history, all);
      all.push_back(
          "What to do: compare the lines below with the reference: constants, operators, indices, "
          "masks and how many values take part.");
      break;
    case ExplainVerdict::Numerical:
      all.push_back(fmt::format(
          "{}: the formula is right, the arithmetic of the kernel loses its value.", values));
      add_origin(history, all);
      add_decision(history, all);
      break;
    case ExplainVerdict::Rounding:
      all.push_back(
          fmt::format("{}: the kernel is within {:.0f} units in the last place of {} of what its "
                      "formula gives.",
                      values, kOrdinaryUlps, name_of(dtype)));
      all.push_back(
          fmt::format("What to do: allow more than {:.3g}; rounding alone may take the "
                      "value {:.3g} away from the exact one.",
                      at.tolerance, at.bound));
      break;
    case ExplainVerdict::Unknown:
    case ExplainVerdict::Skipped:
      all.push_back(
          fmt::format("{}: the exact value overflows as well, so formula and "
                      "arithmetic cannot be told apart.",
                      values));
      add_origin(history, all);
      break;
  }
  if (!history.complete) {
    all.push_back("The history was too long to keep all of it: minimize the case first.");
  }
  return all;
}

ExplainedStep explained(const ShadowStep& step) {
  const auto value = [](const ShadowValue& of) {
    return ExplainedValue{of.name, of.computed, of.exact, of.bound};
  };
  ExplainedStep made{.kind = static_cast<StepKind>(step.kind),
                     .instruction = step.instruction,
                     .file = step.file,
                     .line = step.line,
                     .ptx_line = step.ptx_line,
                     .block = {step.block.x, step.block.y, step.block.z},
                     .thread = {step.thread.x, step.thread.y, step.thread.z},
                     .visit = step.visit,
                     .count = step.count,
                     .result = value(step.result)};
  for (const ShadowValue& operand : step.operands) made.operands.push_back(value(operand));
  return made;
}

}  // namespace gpuemu
