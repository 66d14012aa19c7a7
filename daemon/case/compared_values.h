// The result of comparing a case's outputs, and the data that later stages need.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/case/case_report.h"
#include "judge/verdict/right_answers.h"
#include "judge/verdict/validate.h"

namespace gpuemu {

/// An element whose error exceeds its bound.
struct ExceedingElement {
  std::string output;
  size_t index = 0;
  double computed = 0, reference = 0, tolerance = 0;
  double customary = 0;   ///< The error that a customary test would allow.
  double magnitude = 0;   ///< The magnitude that the customary test uses: Customary::magnitude().
  bool declared = false;  ///< The op declares how large the output's errors may be.
};

/// How an integer output differs from its reference.
struct IntegerDifferences {
  uint64_t elements = 0;  ///< How many elements differ by more than a close choice
                          ///< (are_close_choices).
  uint64_t apart = 0;     ///< The sum of their absolute differences.
  bool keeps_sum = false;
  /// Some differ by more, and all inputs are so small that values derived from them may be too
  /// small for their type, such as a scale that is 1/127 of the largest input.
  bool are_far = false;

  /// Returns the least number of values that must have been rounded to the neighbouring whole
  /// number to explain the differences. A value counted elsewhere moves a 1 from one element to
  /// another, so it explains two differences if the sum is kept.
  uint64_t least_values() const { return keeps_sum ? (apart + 1) / 2 : elements; }
};

/// The errors beyond the bound in outputs whose tolerance is "auto".
struct Exceeding {
  std::vector<ExceedingElement> elements;  ///< At most kDiagnosedElementsMax.
  bool refused = false;  ///< A customary test refuses an element that is not among those listed.
  /// By name of integer output: those in which all elements are within 1 of their reference, whose
  /// sum is that of the reference, or for which all inputs are tiny.
  std::map<std::string, IntegerDifferences> integers;

  /// Elements with NaN where the reference is infinite, the reverse, or an infinity of the other
  /// sign. Only for outputs whose other differences of that kind are in `one_number`.
  std::vector<ExceedingElement> other_class;

  /// All inputs of floats are so small that their squares are too small for float32. Never with
  /// `strict`.
  bool has_tiny_inputs = false;
  /// Elements where the kernel has NaN or an infinity for a number and all inputs are tiny. Only
  /// for outputs without other differences of that kind.
  std::vector<ExceedingElement> one_number;

  bool empty() const {
    return elements.empty() && integers.empty() && other_class.empty() && one_number.empty();
  }
  bool has_one_number_of(const std::string& output) const {
    return std::ranges::find(one_number, output, &ExceedingElement::output) != one_number.end();
  }
  bool has_other_class_of(const std::string& output) const {
    return std::ranges::find(other_class, output, &ExceedingElement::output) != other_class.end();
  }
  bool has_element_of(const std::string& output) const {
    return std::ranges::find(elements, output, &ExceedingElement::output) != elements.end();
  }
};

/// One output and its reference. The views refer to the arena and to the members `matched`,
/// `masked`, `nan_for_infinity`, `infinity_for_nan`, `flushed` and `undefined`, whose elements keep
/// their addresses when the object is moved.
struct ComparedOutput {
  Comparison comparison;
  /// For outputs with several right answers: the one that the reference was replaced by.
  std::optional<MatchedReference> matched;
  /// The reference with masked inputs ignored, if that one is used.
  std::optional<Tensor> masked;
  /// The reference with NaN in place of infinities, where the kernel's NaN is accepted, if
  /// anywhere.
  std::optional<Tensor> nan_for_infinity;
  /// The reference with the kernel's infinities in place of NaN, where they are accepted.
  std::optional<Tensor> infinity_for_nan;
  std::optional<Tensor> flushed;   ///< The reference with flushed results, if that one is used.
  std::vector<uint8_t> undefined;  ///< The elements of comparison.undefined.
  TensorView reference;            ///< As the reference script returned it, or matched.
  Tolerance tolerance;             ///< As gpuemu.toml declares it; exact comparisons drop theirs.
  bool exact = false;              ///< Compared without a tolerance.
  bool passed = false;
  double max_diff = 0;
};

struct ComparedValues {
  std::vector<ValidationFailure> failures;
  double max_diff = 0, max_rel_diff = 0;
  std::optional<ErrorStats> error_stats;
  double bound_ratio_max = 0;
  /// Elements of failing outputs where the kernel and the reference differ in NaN or infinity.
  uint64_t in_other_class = 0;
  std::set<CaseNote> notes;
  /// Names of invariants that are rarely conclusive and were conclusive here.
  std::vector<std::string> invariants;
  std::set<std::string> remarks;
  Exceeding exceeding;
  std::vector<ComparedOutput> outputs;
};

}  // namespace gpuemu
