// Explains a failing case: every output element is compared three ways, as the kernel computed it,
// as it would be without rounding, and as the reference says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/protocol/records.h"
#include "common/tensor/tensor_view.h"
#include "runtime/shadow/element_shadow.h"

namespace gpuemu {

struct Comparison;
struct ShadowOptions;

std::string number_text(double value);  ///< "nan" whatever its sign, which means nothing.

/// The wrong element that matters most in one output.
struct WrongElement {
  int64_t index = 0;
  double computed = 0, exact = 0, reference = 0, tolerance = 0, bound = 0;
  uint64_t block = 0;
  bool known = false;
  ExplainVerdict verdict = ExplainVerdict::Passes;
};

struct ComparedShadow {
  ExplainedOutput counts;
  std::optional<WrongElement> worst;   ///< None when no element is wrong.
  std::optional<WrongElement> chosen;  ///< The element of the options.
  /// An invariant that only the reference violates, or only the output; "" without one.
  std::string broken_by_reference, broken_by_output;
};

/// An invariant or a relation that the outputs violate, and whether they would without rounding.
struct ExactProperty {
  ValidationFailure finding;
  bool holds = false;  ///< Whether the exact values have it.
  /// The element that the finding names, where it is one of the case's own run.
  std::optional<WrongElement> at;
};

/// The outputs of a launch as they would be without rounding, as numbers; the computed value where
/// no float instruction made it.
std::vector<double> exact_values(const TensorView& output, std::span<const ElementShadow> shadows);

/// The invariants that the output violates.
std::vector<ExactProperty> judge_exactly(const Comparison& comparison,
                                         std::span<const ElementShadow> shadows);

/// `shadows` has one per element. If `options` names this output, its element is looked at as well.
ComparedShadow compare_shadow(const Comparison& comparison, std::span<const ElementShadow> shadows,
                              const ShadowOptions& options);

/// The element's verdict now that its history is known: an overflow of finite values is one of the
/// arithmetic, whatever the exact value would be.
ExplainVerdict with_history(const WrongElement& element, const ExecutionShadow& history);

/// What happened and what to do, of an invariant or a relation.
std::vector<std::string> sentences_of(const ExactProperty& property,
                                      const ExecutionShadow& history);
/// "logic" where the exact values violate it as well, else "numerical".
ExplainVerdict verdict_of(const ExactProperty& property);

/// What happened and what to do.
std::vector<std::string> sentences_of(const WrongElement& element, const std::string& output,
                                      DType dtype, const ExecutionShadow& history);

ExplainedStep explained(const ShadowStep& step);

}  // namespace gpuemu
