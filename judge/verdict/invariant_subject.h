// Private to this folder: shared by the checks of invariants.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/infinity.h"
#include "judge/bounds/float_format.h"
#include "judge/verdict/validate.h"

namespace gpuemu::invariants {

// Roundings of a sum or a mean stay within this many sigma of the scale-aware bound.
inline constexpr double kSafety = 8;

using Finding = std::optional<ValidationFailure>;

/// The output as numbers, and what every check needs.
struct Subject {
  const Comparison& comparison;
  const InvariantSpec& spec;
  const Shape& shape;
  std::vector<double> values;

  double number(const char* name, double otherwise) const {
    const auto found = spec.numbers.find(name);
    return found == spec.numbers.end() ? otherwise : found->second;
  }
  /// Returns u of the output's format; 0 for integers.
  double unit() const {
    return is_float(comparison.output.dtype) ? format_of(comparison.output.dtype).unit : 0;
  }
};

Finding violation(const Subject& subject, std::string message, std::optional<size_t> index = {},
                  std::optional<double> expected = {});

/// A line of elements along an axis.
struct Line {
  size_t first = 0, step = 1, count = 0;
  size_t at(size_t i) const { return first + i * step; }
};

/// Calls visit for every line until it returns a finding.
Finding for_lines(const Subject& subject, const std::function<Finding(const Line&)>& visit);

/// Returns the input that the invariant names, else the first; null if there is none.
const TensorView* input_of(const Subject& subject);

Finding check_non_negative(const Subject& subject);

// --- invariants_inputs.cc: checks that compare the output with an input ---
Finding check_zero_preserving(const Subject& subject);
Finding check_count_preserved(const Subject& subject);
Finding check_convex_hull(const Subject& subject);
Finding check_sign(const Subject& subject);
Finding check_subset_of_input(const Subject& subject);
Finding check_conserve(const Subject& subject);

// --- invariant_bias.cc ---
Finding check_unbiased(const Subject& subject);
/// Returns whether there are enough elements to detect a truncating kernel.
bool can_show_bias(const Subject& subject);

}  // namespace gpuemu::invariants
