// Explains a failing case by comparing three values of every output element: the kernel's, the one
// without rounding, and the reference's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"
#include "common/tensor/tensor_view.h"
#include "runtime/shadow/element_shadow.h"

namespace gpuemu {

struct Comparison;
struct ShadowOptions;

/// Returns "nan" for either sign of NaN, because the sign is meaningless.
std::string number_text(double value);

/// The most important wrong element of one output.
struct WrongElement {
  int64_t index = 0;
  double computed = 0, exact = 0, reference = 0, tolerance = 0, bound = 0;
  uint64_t block = 0;
  bool known = false;
  ExplainVerdict verdict = ExplainVerdict::Passes;
};

struct ComparedShadow {
  ExplainedOutput counts;
  std::optional<WrongElement> worst;   ///< None if no element is wrong.
  std::optional<WrongElement> chosen;  ///< The element selected in the options.
  /// An invariant that only the reference, or only the output, violates; "" if there is none.
  std::string broken_by_reference, broken_by_output;
};

/// An invariant or relation that the outputs violate, and whether they also do without rounding.
struct ExactProperty {
  ValidationFailure finding;
  bool holds = false;  ///< Whether the exact values satisfy it.
  /// The element that the finding names, if it belongs to the case's own run.
  std::optional<WrongElement> at;
};

/// Returns a launch's outputs without rounding, as numbers; the computed value for elements that no
/// float instruction produced.
std::vector<double> exact_values(const TensorView& output, std::span<const ElementShadow> shadows);

/// Returns the invariants that the output violates.
std::vector<ExactProperty> judge_exactly(const Comparison& comparison,
                                         std::span<const ElementShadow> shadows);

/// Compares the values. `shadows` has one item per element. If `options` names this output, also
/// returns its element.
ComparedShadow compare_shadow(const Comparison& comparison, std::span<const ElementShadow> shadows,
                              const ShadowOptions& options);

/// Returns the element's verdict with its history known: an overflow of finite values counts as a
/// fault of the arithmetic, whatever the exact value is.
ExplainVerdict with_history(const WrongElement& element, const ExecutionShadow& history);

/// Returns what happened and what to do, for an invariant or a relation.
std::vector<std::string> sentences_of(const ExactProperty& property,
                                      const ExecutionShadow& history);
/// Returns "logic" if the exact values violate it too, else "numerical".
ExplainVerdict verdict_of(const ExactProperty& property);

/// Returns what happened and what to do, for an element.
std::vector<std::string> sentences_of(const WrongElement& element, const std::string& output,
                                      DType dtype, const ExecutionShadow& history);

ExplainedStep explained(const ShadowStep& step);

}  // namespace gpuemu
