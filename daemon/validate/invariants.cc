#include "daemon/validate/invariants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "daemon/validate/describe.h"
#include "daemon/validate/formats.h"

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Roundings of a sum or a mean stay within this many sigma of the scale-aware bound.
constexpr double kSafety = 8;

using Finding = std::optional<ValidationFailure>;

/// The output as numbers, with what every check needs.
struct Subject {
  const Comparison& comparison;
  const InvariantSpec& spec;
  const Shape& shape;
  std::vector<double> values;

  double number(const char* name, double otherwise) const {
    const auto found = spec.numbers.find(name);
    return found == spec.numbers.end() ? otherwise : found->second;
  }
  /// u of the output's format, 0 for integers.
  double unit() const {
    return is_float(comparison.output.dtype) ? format_of(comparison.output.dtype).unit : 0;
  }
};

Finding violation(const Subject& subject, std::string message, std::optional<size_t> index = {},
                  std::optional<double> expected = {}) {
  ValidationFailure failure;
  failure.kind = FindingKind::InvariantViolation;
  failure.message = fmt::format("invariant {}: {}", subject.spec.name, message);
  failure.expected = expected;
  if (index.has_value() && *index < subject.values.size()) {
    failure.index = static_cast<int64_t>(*index);
    failure.actual = subject.values[*index];
  }
  return failure;
}

/// One line of elements along an axis.
struct Line {
  size_t first = 0, step = 1, count = 0;
  size_t at(size_t i) const { return first + i * step; }
};

/// Calls visit for every line until it finds something.
Finding for_lines(const Subject& subject, const std::function<Finding(const Line&)>& visit) {
  const auto rank = static_cast<int64_t>(subject.shape.size());
  const double wanted = subject.number("axis", -1);
  const auto axis = static_cast<int64_t>(wanted < 0 ? wanted + static_cast<double>(rank) : wanted);
  if (axis < 0 || axis >= rank) {
    return violation(subject,
                     fmt::format("axis {} does not exist in an output of shape {}; set axis "
                                 "between {} and {}",
                                 wanted, to_string(subject.shape), -rank, rank - 1));
  }
  size_t step = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < subject.shape.size(); ++i) {
    step *= static_cast<size_t>(subject.shape[i]);
  }
  const auto count = static_cast<size_t>(subject.shape[static_cast<size_t>(axis)]);
  if (count == 0 || subject.values.empty()) return std::nullopt;
  for (size_t outer = 0; outer < subject.values.size(); outer += step * count) {
    for (size_t inner = 0; inner < step; ++inner) {
      Finding found = visit({outer + inner, step, count});
      if (found.has_value()) return found;
    }
  }
  return std::nullopt;
}

bool all_finite(const Subject& subject, const Line& line) {
  for (size_t i = 0; i < line.count; ++i) {
    if (!std::isfinite(subject.values[line.at(i)])) return false;
  }
  return true;
}

Finding check_range(const Subject& subject) {
  const double lo = subject.number("lo", -kInfinity), hi = subject.number("hi", kInfinity);
  const double ulps = subject.number("ulps", 0);
  const auto slack = [&](double limit) {
    if (ulps == 0 || !std::isfinite(limit) || !is_float(subject.comparison.output.dtype))
      return 0.0;
    return ulps * ulp_at(format_of(subject.comparison.output.dtype), limit);
  };
  const double low = lo - slack(lo), high = hi + slack(hi);
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const double value = subject.values[i];
    // NaN and, where no limit is set, infinity belong to the NaN and Inf stages.
    if (std::isnan(value) || (value >= low && value <= high)) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g}, expected a value in [{}, {}]",
                                 place_of(i, subject.shape), value, lo, hi),
                     i);
  }
  return std::nullopt;
}

Finding check_non_negative(const Subject& subject) {
  for (size_t i = 0; i < subject.values.size(); ++i) {
    if (!(subject.values[i] < 0)) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g}, expected a value >= 0",
                                 place_of(i, subject.shape), subject.values[i]),
                     i);
  }
  return std::nullopt;
}

Finding check_shape_preserved(const Subject& subject) {
  const auto found = subject.comparison.inputs.find(subject.comparison.first_input);
  if (found == subject.comparison.inputs.end() || found->second.shape == subject.shape) {
    return std::nullopt;
  }
  return violation(subject, fmt::format("output is {}, input '{}' is {}", to_string(subject.shape),
                                        found->first, to_string(found->second.shape)));
}

Finding check_sums(const Subject& subject) {
  const double value = subject.number("value", 1);
  return for_lines(subject, [&](const Line& line) -> Finding {
    if (!all_finite(subject, line)) return std::nullopt;
    double sum = 0, magnitude = std::fabs(value);
    for (size_t i = 0; i < line.count; ++i) {
      sum += subject.values[line.at(i)];
      magnitude += std::fabs(subject.values[line.at(i)]);
    }
    const double smallest =
        static_cast<double>(line.count) *
        (subject.unit() > 0 ? format_of(subject.comparison.output.dtype).min_subnormal : 0);
    const double allowed =
        subject.number("tolerance", kSafety * subject.unit() * magnitude + smallest);
    if (std::fabs(sum - value) <= allowed) return std::nullopt;
    return violation(subject,
                     fmt::format("the sum from element {} along the axis is {:.9g}, expected {} "
                                 "within {:.3g}",
                                 place_of(line.first, subject.shape), sum, value, allowed),
                     line.first, value);
  });
}

Finding check_norm(const Subject& subject) {
  const double p = subject.number("p", 2), value = subject.number("value", 1);
  const double allowed =
      subject.number("tolerance", kSafety * subject.unit() * (1 + std::fabs(value)));
  return for_lines(subject, [&](const Line& line) -> Finding {
    if (!all_finite(subject, line)) return std::nullopt;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < line.count; ++i) {
      const double magnitude = std::fabs(subject.values[line.at(i)]);
      largest = std::max(largest, magnitude);
      sum += std::pow(magnitude, p);
    }
    const double norm = std::isinf(p) ? largest : std::pow(sum, 1 / p);
    if (std::fabs(norm - value) <= allowed) return std::nullopt;
    return violation(subject,
                     fmt::format("the {}-norm from element {} along the axis is {:.9g}, expected "
                                 "{} within {:.3g}",
                                 p, place_of(line.first, subject.shape), norm, value, allowed),
                     line.first, value);
  });
}

Finding check_mean_var(const Subject& subject) {
  const double mean_wanted = subject.number("mean", 0), var_wanted = subject.number("var", 1);
  // The usual epsilon in the denominator lowers the variance of quiet rows; 16-bit outputs round
  // more.
  const double allowed = subject.number("tolerance", std::max(1e-3, kSafety * subject.unit()));
  return for_lines(subject, [&](const Line& line) -> Finding {
    if (!all_finite(subject, line)) return std::nullopt;
    const auto count = static_cast<double>(line.count);
    double sum = 0, square = 0;
    for (size_t i = 0; i < line.count; ++i) sum += subject.values[line.at(i)];
    const double mean = sum / count;
    for (size_t i = 0; i < line.count; ++i) {
      square += (subject.values[line.at(i)] - mean) * (subject.values[line.at(i)] - mean);
    }
    const double variance = square / count;
    const bool right =
        std::fabs(mean - mean_wanted) <= allowed && std::fabs(variance - var_wanted) <= allowed;
    if (right) return std::nullopt;
    return violation(subject,
                     fmt::format("from element {} along the axis mean is {:.6g} and variance "
                                 "{:.6g}, expected {} and {} within {:.3g}",
                                 place_of(line.first, subject.shape), mean, variance, mean_wanted,
                                 var_wanted, allowed),
                     line.first);
  });
}

Finding check_monotonic(const Subject& subject) {
  const bool strict = subject.number("strict", 0) != 0;
  const auto direction = subject.spec.strings.find("direction");
  const bool falling = direction != subject.spec.strings.end() && direction->second == "decreasing";
  return for_lines(subject, [&](const Line& line) -> Finding {
    for (size_t i = 1; i < line.count; ++i) {
      const double before = subject.values[line.at(i - 1)], here = subject.values[line.at(i)];
      if (std::isnan(before) || std::isnan(here)) continue;
      const double rise = falling ? before - here : here - before;
      if (strict ? rise > 0 : !(rise < 0)) continue;
      return violation(
          subject,
          fmt::format("element {} is {:.9g} after {:.9g}, expected {}{} values",
                      place_of(line.at(i), subject.shape), here, before, strict ? "strictly " : "",
                      falling ? "decreasing" : "increasing"),
          line.at(i), before);
    }
    return std::nullopt;
  });
}

/// The input that the invariant names, else the first; null when it has another shape or type.
const TensorView* input_of(const Subject& subject) {
  const auto named = subject.spec.strings.find("input");
  const auto found = subject.comparison.inputs.find(
      named == subject.spec.strings.end() ? subject.comparison.first_input : named->second);
  return found == subject.comparison.inputs.end() ? nullptr : &found->second;
}

Finding check_zero_preserving(const Subject& subject) {
  const TensorView* input = input_of(subject);
  if (input == nullptr || input->shape != subject.shape) {
    return violation(subject, "needs an input of the output's shape; name it with input = \"...\"");
  }
  for (size_t i = 0; i < subject.values.size(); ++i) {
    if (element(*input, i) != 0 || subject.values[i] == 0) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g} where the input is 0, expected 0",
                                 place_of(i, subject.shape), subject.values[i]),
                     i, 0.0);
  }
  return std::nullopt;
}

Finding check_count_preserved(const Subject& subject) {
  const TensorView* input = input_of(subject);
  if (input == nullptr) return violation(subject, "needs an input; name it with input = \"...\"");
  std::vector<double> theirs(static_cast<size_t>(element_count(input->shape)));
  decode(*input, 0, theirs);
  std::vector<double> ours = subject.values;
  const auto before = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::sort(theirs.begin(), theirs.end(), before);
  std::sort(ours.begin(), ours.end(), before);
  const bool same =
      std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                 [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
  if (same) return std::nullopt;
  return violation(subject, "the output is not a rearrangement of the input's elements");
}

Finding check_symmetric(const Subject& subject) {
  const size_t rank = subject.shape.size();
  if (rank < 2 || subject.shape[rank - 1] != subject.shape[rank - 2]) {
    return violation(subject,
                     fmt::format("the last two axes of {} differ", to_string(subject.shape)));
  }
  const auto size = static_cast<size_t>(subject.shape[rank - 1]);
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const size_t row = i / size % size, column = i % size;
    const size_t mirror = i - row * size - column + column * size + row;
    const double here = subject.values[i], there = subject.values[mirror];
    if (here == there || (std::isnan(here) && std::isnan(there))) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g}, its mirror image {:.9g}",
                                 place_of(i, subject.shape), here, there),
                     i, there);
  }
  return std::nullopt;
}

Finding check_in_scan(const Subject&) { return std::nullopt; }

struct Row {
  InvariantInfo info;
  Finding (*check)(const Subject&);
};

constexpr Row kRows[] = {
    {{"non_negative", "", "no element is below 0"}, check_non_negative},
    {{"shape_preserved", "", "the output has the shape of the first input"}, check_shape_preserved},
    {{"no_nan", "", "no NaN, whatever check_nan and nan_policy say"}, check_in_scan},
    {{"no_inf", "", "no infinity, whatever check_inf and nan_policy say"}, check_in_scan},
    {{"finite", "", "no_nan and no_inf"}, check_in_scan},
    {{"range", "lo, hi, ulps", "lo - ulps <= element <= hi + ulps"}, check_range},
    {{"sums_to_one", "axis, tolerance", "sums along the axis are 1"}, check_sums},
    {{"sums_to", "axis, value, tolerance", "sums along the axis are value"}, check_sums},
    {{"norm", "axis, p, value, tolerance", "p-norms along the axis are value"}, check_norm},
    {{"mean_var", "axis, mean, var, tolerance", "mean and variance along the axis"},
     check_mean_var},
    {{"monotonic", "axis, strict, direction",
      "values never fall (direction = \"decreasing\": never rise)"},
     check_monotonic},
    {{"sorted", "axis, direction", "the same as monotonic"}, check_monotonic},
    {{"zero_preserving", "input", "0 where the input is 0"}, check_zero_preserving},
    {{"count_preserved", "input", "a rearrangement of the input's elements"},
     check_count_preserved},
    {{"symmetric", "", "equal to its transpose in the last two axes"}, check_symmetric},
};

}  // namespace

std::span<const InvariantInfo> known_invariants() {
  static const std::vector<InvariantInfo> kInfos = [] {
    std::vector<InvariantInfo> all;
    for (const Row& row : kRows) all.push_back(row.info);
    return all;
  }();
  return kInfos;
}

Finding check_invariant(const Comparison& comparison, const InvariantSpec& spec) {
  Subject subject{comparison, spec, comparison.output.shape, {}};
  for (const Row& row : kRows) {
    if (spec.name != row.info.name) continue;
    if (row.check == check_in_scan) return std::nullopt;
    if (row.check != check_shape_preserved) {
      subject.values.resize(static_cast<size_t>(element_count(subject.shape)));
      decode(comparison.output, 0, subject.values);
    }
    return row.check(subject);
  }
  std::string names;
  for (const Row& row : kRows)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.info.name);
  return violation(subject, fmt::format("no such invariant; known are {}", names));
}

}  // namespace gpuemu
