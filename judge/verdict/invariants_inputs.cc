// Invariants that compare an output with an input.
#include <algorithm>

#include <fmt/core.h>

#include "judge/scan/mismatch_text.h"
#include "judge/verdict/invariant_subject.h"

namespace gpuemu::invariants {

const TensorView* input_of(const Subject& subject) {
  const auto named = subject.spec.strings.find("input");
  const auto found = subject.comparison.inputs.find(
      named == subject.spec.strings.end() ? subject.comparison.reference_input : named->second);
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

namespace {

/// Returns whether the input has a line of values per line of the output: shapes equal except along
/// the axis.
bool hull_axis_fits(const Shape& input, const Shape& output, size_t axis) {
  if (input.size() != output.size()) return false;
  for (size_t i = 0; i < input.size(); ++i) {
    if (i != axis && input[i] != output[i]) return false;
  }
  return axis < input.size();
}

/// The smallest and largest element of every line of the input along the axis.
struct Hull {
  size_t inner = 1;
  std::vector<double> least, most;
  std::vector<bool> finite;
};

Hull hull_of(const TensorView& input, size_t axis) {
  Hull hull;
  std::vector<double> values(static_cast<size_t>(element_count(input.shape)));
  decode(input, 0, values);
  for (size_t i = axis + 1; i < input.shape.size(); ++i) {
    hull.inner *= static_cast<size_t>(input.shape[i]);
  }
  const size_t plane = hull.inner * static_cast<size_t>(input.shape[axis]);
  const size_t lines = plane == 0 ? 0 : values.size() / plane * hull.inner;
  hull.least.assign(lines, kInfinity);
  hull.most.assign(lines, -kInfinity);
  hull.finite.assign(lines, true);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t line = i / plane * hull.inner + i % hull.inner;
    if (!std::isfinite(values[i])) hull.finite[line] = false;
    hull.least[line] = std::min(hull.least[line], values[i]);
    hull.most[line] = std::max(hull.most[line], values[i]);
  }
  return hull;
}

}  // namespace

/// A weighted average is between the smallest and the largest averaged value.
Finding check_convex_hull(const Subject& subject) {
  const TensorView* input = input_of(subject);
  if (input == nullptr) return violation(subject, "needs an input; name it with input = \"...\"");
  const auto rank = static_cast<double>(input->shape.size());
  double axis = subject.number("axis", rank >= 2 ? -2 : -1);
  if (axis < 0) axis += rank;
  const auto along = static_cast<size_t>(std::max(axis, 0.0));
  // The averaged axis may be absent from the output's shape.
  Shape kept = input->shape;
  if (along < kept.size()) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(along));
  const bool reduced = kept == subject.shape;
  if (!reduced && !hull_axis_fits(input->shape, subject.shape, along)) {
    return violation(subject, fmt::format("output {} is not an average of input {} along axis {}",
                                          to_string(subject.shape), to_string(input->shape), axis));
  }
  const Hull hull = hull_of(*input, along);
  if (hull.least.empty()) return std::nullopt;
  const size_t size = reduced ? 1 : static_cast<size_t>(subject.shape[along]);
  const double ulps = subject.number("ulps", kSafety);
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const size_t line = i / (hull.inner * size) * hull.inner + i % hull.inner;
    const double value = subject.values[i], least = hull.least[line], most = hull.most[line];
    if (!hull.finite[line]) continue;
    const double largest = std::max(std::fabs(least), std::fabs(most));
    const double slack = is_float(subject.comparison.output.dtype)
                             ? ulps * ulp_at(format_of(subject.comparison.output.dtype), largest)
                             : 0;
    if (value >= least - slack && value <= most + slack) continue;  // NaN fails.
    return violation(subject,
                     fmt::format("element {} is {:.9g}, expected a value between {:.9g} and {:.9g},"
                                 " the least and largest that it averages",
                                 place_of(i, subject.shape), value, least, most),
                     i, value < least ? least : most);
  }
  return std::nullopt;
}

namespace {

/// The values of `kind` for the invariant `sign`, the default first.
struct SignRow {
  std::string_view text;
  double product;  ///< Sign of input times output; 0: only the output matters.
};
constexpr SignRow kSigns[] = {{"same", 1}, {"opposite", -1}, {"non_negative", 0}};

}  // namespace

/// Where the output is not zero, it has the input's sign, or the opposite one.
Finding check_sign(const Subject& subject) {
  const auto named = subject.spec.strings.find("kind");
  const std::string_view text =
      named == subject.spec.strings.end() ? kSigns[0].text : std::string_view(named->second);
  const auto* const row = std::ranges::find(kSigns, text, &SignRow::text);
  GPUEMU_CHECK(row != std::end(kSigns));
  if (row->product == 0) return check_non_negative(subject);
  const TensorView* input = input_of(subject);
  if (input == nullptr || input->shape != subject.shape) {
    return violation(subject, "needs an input of the output's shape; name it with input = \"...\"");
  }
  for (size_t i = 0; i < subject.values.size(); ++i) {
    const double from = element(*input, i), value = subject.values[i];
    if (!(from * value != 0) || std::isnan(from) || std::isnan(value)) continue;
    if ((from > 0 ? 1 : -1) * (value > 0 ? 1 : -1) == row->product) continue;
    return violation(subject,
                     fmt::format("element {} is {:.9g} for {:.9g}, expected the {} sign",
                                 place_of(i, subject.shape), value, from, row->text),
                     i);
  }
  return std::nullopt;
}

/// An element occurs in the output at most as often as in the input; all NaNs are equal.
Finding check_subset_of_input(const Subject& subject) {
  const TensorView* input = input_of(subject);
  if (input == nullptr) return violation(subject, "needs an input; name it with input = \"...\"");
  std::vector<double> theirs(static_cast<size_t>(element_count(input->shape)));
  decode(*input, 0, theirs);
  const auto before = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::sort(theirs.begin(), theirs.end(), before);
  for (size_t i = 0; i < subject.values.size(); ++i) {
    if (std::binary_search(theirs.begin(), theirs.end(), subject.values[i], before)) continue;
    return violation(
        subject,
        fmt::format("element {} is {:.9g}, which is not an element of input '{}'",
                    place_of(i, subject.shape), subject.values[i],
                    subject.spec.strings.contains("input") ? subject.spec.strings.at("input")
                                                           : subject.comparison.reference_input),
        i);
  }
  return std::nullopt;
}

namespace {

struct Total {
  double sum = 0, magnitude = 0;
  bool finite = true;
};
Total total_of(const std::vector<double>& values) {
  Total total;
  for (const double value : values) {
    total.sum += value;
    total.magnitude += std::fabs(value);
    total.finite = total.finite && std::isfinite(value);
  }
  return total;
}

}  // namespace

/// The sums of input and output are equal: over everything, or along an axis for each line.
Finding check_conserve(const Subject& subject) {
  const TensorView* input = input_of(subject);
  if (input == nullptr) return violation(subject, "needs an input; name it with input = \"...\"");
  std::vector<double> theirs(static_cast<size_t>(element_count(input->shape)));
  decode(*input, 0, theirs);
  const auto compare = [&](const Total& in, const Total& out, size_t first) -> Finding {
    if (!in.finite || !out.finite) return std::nullopt;
    const double allowed =
        subject.number("tolerance", kSafety * subject.unit() * (in.magnitude + out.magnitude));
    if (std::fabs(in.sum - out.sum) <= allowed) return std::nullopt;
    return violation(subject,
                     fmt::format("the sum from element {} is {:.9g}, that of the input {:.9g}, "
                                 "allowed are {:.3g} between them",
                                 place_of(first, subject.shape), out.sum, in.sum, allowed),
                     first, in.sum);
  };
  if (!subject.spec.numbers.contains("axis")) {
    return compare(total_of(theirs), total_of(subject.values), 0);
  }
  if (input->shape != subject.shape) {
    return violation(subject, "with an axis it needs an input of the output's shape");
  }
  return for_lines(subject, [&](const Line& line) {
    std::vector<double> in, out;
    for (size_t i = 0; i < line.count; ++i) {
      in.push_back(theirs[line.at(i)]);
      out.push_back(subject.values[line.at(i)]);
    }
    return compare(total_of(in), total_of(out), line.first);
  });
}

}  // namespace gpuemu::invariants
