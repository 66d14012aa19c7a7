// What the comparison of a case's outputs found, and what later stages need of it.
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
  double customary = 0;   ///< What a customary test would allow.
  double magnitude = 0;   ///< What counts as one there: Customary::magnitude().
  bool declared = false;  ///< The op says how large the output's errors may be.
};

/// How an output of integers differs from its reference.
struct IntegerDifferences {
  uint64_t elements = 0;  ///< How many differ by more than a close choice (are_close_choices).
  uint64_t apart = 0;     ///< By how much, all together.
  bool keeps_sum = false;
  /// Some are further apart, and all inputs are so small that what is made of them may be too small
  /// for its type, as a scale that is a 127th of the largest.
  bool are_far = false;

  /// The least number of values that, each taken to the whole number beside its own, make this. One
  /// that is counted takes its 1 from one element to another: it explains two where the sum is
  /// kept.
  uint64_t least_values() const { return keeps_sum ? (apart + 1) / 2 : elements; }
};

/// Errors beyond the bound of outputs whose tolerance is "auto".
struct Exceeding {
  std::vector<ExceedingElement> elements;  ///< At most kDiagnosedElementsMax.
  bool refused = false;  ///< A customary test refuses an element beyond those that are listed.
  /// By output of integers, where all of them are within 1 of their reference, their sum is that of
  /// the reference, or all inputs are tiny.
  std::map<std::string, IntegerDifferences> integers;

  /// NaN where the reference is infinite, the reverse, or an infinity of the other sign, of outputs
  /// that have no number where the reference has none and no NaN where it has a number.
  std::vector<ExceedingElement> other_class;

  bool empty() const { return elements.empty() && integers.empty() && other_class.empty(); }
  bool has_other_class_of(const std::string& output) const {
    return std::ranges::find(other_class, output, &ExceedingElement::output) != other_class.end();
  }
  bool has_element_of(const std::string& output) const {
    return std::ranges::find(elements, output, &ExceedingElement::output) != elements.end();
  }
};

/// One output beside its reference. The views are of the arena and of the members `matched`,
/// `masked`, `nan_for_infinity`, `infinity_for_nan`, `flushed` and `undefined`, whose elements stay
/// where they are when it is moved.
struct ComparedOutput {
  Comparison comparison;
  /// The reference as one that is as right, of outputs with several right answers.
  std::optional<MatchedReference> matched;
  /// The reference without what is masked, where that counts.
  std::optional<Tensor> masked;
  /// The reference with NaN in place of infinities for which the kernel's NaN is accepted, if any.
  std::optional<Tensor> nan_for_infinity;
  /// The reference with the kernel's infinities in place of NaN, where they are accepted.
  std::optional<Tensor> infinity_for_nan;
  std::optional<Tensor> flushed;   ///< The reference with flushed results, where that one counts.
  std::vector<uint8_t> undefined;  ///< What comparison.undefined shows.
  TensorView reference;            ///< As the reference script gave it, or matched.
  Tolerance tolerance;             ///< As gpuemu.toml has it: exact comparisons drop theirs.
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
  std::vector<std::string> invariants;  ///< Seldom conclusive ones that were conclusive here.
  std::set<std::string> remarks;
  Exceeding exceeding;
  std::vector<ComparedOutput> outputs;
};

}  // namespace gpuemu
