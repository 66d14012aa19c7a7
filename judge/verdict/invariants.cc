#include "judge/verdict/invariants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "common/base/check.h"
#include "judge/scan/mismatch_text.h"
#include "judge/verdict/invariant_subject.h"

namespace gpuemu {
namespace invariants {

Finding violation(const Subject& subject, std::string message, std::optional<size_t> index,
                  std::optional<double> expected) {
  ValidationFailure failure;
  failure.kind = FindingKind::InvariantViolation;
  failure.message = fmt::format("invariant {}: {}", name_of(subject.spec.kind), message);
  failure.expected = expected;
  if (index.has_value() && *index < subject.values.size()) {
    failure.index = static_cast<int64_t>(*index);
    failure.actual = subject.values[*index];
  }
  return failure;
}

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

namespace {

bool all_finite(const Subject& subject, const Line& line) {
  for (size_t i = 0; i < line.count; ++i) {
    if (!std::isfinite(subject.values[line.at(i)])) return false;
  }
  return true;
}

bool has_nan(const Subject& subject, const Line& line) {
  for (size_t i = 0; i < line.count; ++i) {
    if (std::isnan(subject.values[line.at(i)])) return true;
  }
  return false;
}

Finding check_range(const Subject& subject) {
  const double lo = subject.number("lo", -kInfinity), hi = subject.number("hi", kInfinity);
  const double ulps = subject.number("ulps", 0);
  const auto slack = [&](double limit) {
    if (ulps == 0 || !std::isfinite(limit) || !is_float(subject.comparison.output.dtype)) {
      return 0.0;
    }
    return ulps * ulp_at(format_of(subject.comparison.output.dtype), limit);
  };
  const double low = lo - slack(lo), high = hi + slack(hi);
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const double value = subject.values[i];
    // NaN and, without a limit, infinity are judged by the NaN and Inf stages.
    if (std::isnan(value) || (value >= low && value <= high)) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g}, expected a value in [{}, {}]",
                                 place_of(i, subject.shape), value, lo, hi),
                     i);
  }
  return std::nullopt;
}

Finding check_shape_preserved(const Subject& subject) {
  const auto found = subject.comparison.inputs.find(subject.comparison.reference_input);
  if (found == subject.comparison.inputs.end() || found->second.shape == subject.shape) {
    return std::nullopt;
  }
  return violation(subject, fmt::format("output is {}, input '{}' is {}", to_string(subject.shape),
                                        found->first, to_string(found->second.shape)));
}

/// Returns u of the format in which the kernel sums.
double summing_unit(const Subject& subject) {
  const DType dtype = subject.comparison.output.dtype;
  if (!is_float(dtype)) return 0;
  const DType usual = byte_size(dtype) == 2 ? DType::Float32 : dtype;
  const DType sums_in = subject.comparison.policy.accumulate_dtype.value_or(usual);
  return is_float(sums_in) ? format_of(sums_in).unit : 0;
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
    // The terms are rounded, and so was the sum by which they were divided.
    const double unit =
        subject.unit() + summing_unit(subject) * std::sqrt(static_cast<double>(line.count));
    const double allowed = subject.number("tolerance", kSafety * unit * magnitude + smallest);
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
  // The usual epsilon in the denominator lowers the variance of rows with little variation; 16-bit
  // outputs round more.
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
    if (has_nan(subject, line)) return std::nullopt;  // NaN has no place in an order.
    for (size_t i = 1; i < line.count; ++i) {
      const double before = subject.values[line.at(i - 1)], here = subject.values[line.at(i)];
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

/// With a reference, the scan decides these once per element.
Finding check_finite(const Subject& subject) {
  const bool nan = subject.spec.kind != InvariantKind::NoInf;
  const bool inf = subject.spec.kind != InvariantKind::NoNan;
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const double value = subject.values[i];
    if (!(nan && std::isnan(value)) && !(inf && std::isinf(value))) continue;
    return violation(subject, fmt::format("element {} is {}", place_of(i, subject.shape), value),
                     i);
  }
  return std::nullopt;
}

/// Values do not reveal it; the device reports it (DeviceCheck::Writes).
Finding seen_by_device(const Subject&) { return std::nullopt; }

struct Row {
  InvariantKind kind;
  Finding (*check)(const Subject&);
};

constexpr Row kRows[] = {
    {InvariantKind::NonNegative, check_non_negative},
    {InvariantKind::ShapePreserved, check_shape_preserved},
    {InvariantKind::NoNan, check_finite},
    {InvariantKind::NoInf, check_finite},
    {InvariantKind::Finite, check_finite},
    {InvariantKind::Range, check_range},
    {InvariantKind::SumsToOne, check_sums},
    {InvariantKind::SumsTo, check_sums},
    {InvariantKind::Norm, check_norm},
    {InvariantKind::MeanVar, check_mean_var},
    {InvariantKind::Monotonic, check_monotonic},
    {InvariantKind::Sorted, check_monotonic},
    {InvariantKind::ZeroPreserving, check_zero_preserving},
    {InvariantKind::CountPreserved, check_count_preserved},
    {InvariantKind::Symmetric, check_symmetric},
    {InvariantKind::ConvexHull, check_convex_hull},
    {InvariantKind::Sign, check_sign},
    {InvariantKind::SubsetOfInput, check_subset_of_input},
    {InvariantKind::Conserve, check_conserve},
    {InvariantKind::Unbiased, check_unbiased},
    {InvariantKind::WrittenOnce, seen_by_device},
};

/// Each invariant's row is at its position in the enumeration; relations follow after them.
constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  }
  return static_cast<size_t>(InvariantKind::ReadsInputs) == std::size(kRows);
}
static_assert(rows_follow_the_enumeration());

}  // namespace
}  // namespace invariants

bool is_conclusive(const Comparison& comparison, const InvariantSpec& spec) {
  if (spec.kind == InvariantKind::WrittenOnce) return false;
  if (spec.kind != InvariantKind::Unbiased) return true;
  invariants::Subject subject{comparison, spec, comparison.output.shape, {}};
  subject.values.resize(static_cast<size_t>(element_count(subject.shape)));
  decode(comparison.output, 0, subject.values);
  return invariants::can_show_bias(subject);
}

std::optional<ValidationFailure> check_invariant(const Comparison& comparison,
                                                 const InvariantSpec& spec) {
  invariants::Subject subject{comparison, spec, comparison.output.shape, {}};
  GPUEMU_CHECK(!is_relation(spec.kind));
  const invariants::Row& row = invariants::kRows[static_cast<size_t>(spec.kind)];
  if (row.check == invariants::check_finite && comparison.has_reference) return std::nullopt;
  const bool reads_values =
      row.check != invariants::check_shape_preserved && row.check != invariants::seen_by_device;
  if (reads_values) {
    subject.values.resize(static_cast<size_t>(element_count(subject.shape)));
    decode(comparison.output, 0, subject.values);
  }
  return row.check(subject);
}

}  // namespace gpuemu
