#include "judge/verdict/masked.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "common/config/op_config.h"
#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "judge/verdict/nan_for_infinity.h"

namespace gpuemu {
namespace {

/// How a draw chooses the numbers that replace NaN and infinity.
enum Draw : size_t { High, Low, Middle, ByChance };
static_assert(ByChance + 1 == kMaskedDraws);

/// Larger than the other values of such cases, which are within 10, so that a maximum or minimum
/// reveals them; in the random draw up to 2^15, which thresholds rarely exceed. In a declared
/// range: a quarter at either end, or the middle.
constexpr double kLeast = 16, kMost = 32, kQuarter = 0.25, kDoublings = 11;
/// Numbers near the middle are smaller, so that clamping to [-1, 1] reveals them.
constexpr double kSmall = 0.5;
/// Replacements for infinity when a limit is computed: from 2^96 to 2^116, whose products are
/// finite in float64. Results are infinite if they are beyond kLargeAnswer or grow with the
/// replacement; a softmax weight, for example, stays small. Draws come in pairs that differ by
/// kLargeStep. What is largest in one pair is smallest in the other, so that inf - inf grows in one
/// direction, then in the other.
constexpr double kLargeLeast = 100, kLargeMost = 116, kLargeStep = 4, kLargeAnswer = 0x1p60;
/// Relative difference that another order of summation may cause.
constexpr double kAgree = 1e-12;

using Range = std::pair<double, double>;

/// `range` may be null.
double number_for(const Range* range, size_t draw, bool positive, double share) {
  if (range == nullptr) {
    const double magnitude = draw == Middle     ? share * kSmall
                             : draw == ByChance ? kLeast * std::exp2(share * kDoublings)
                                                : kLeast + share * (kMost - kLeast);
    return positive ? magnitude : -magnitude;
  }
  const double width = range->second - range->first, step = share * kQuarter * width;
  if (draw == Middle) return range->first + (1 - kQuarter) / 2 * width + step;
  return positive ? range->second - step : range->first + step;
}

/// Absent if every element is finite.
std::optional<Tensor> finite(const TensorView& view, const Range* range, size_t draw,
                             Stream stream) {
  if (!is_float(view.dtype)) return std::nullopt;
  std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, values);
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (std::ranges::all_of(values, is_finite)) return std::nullopt;
  for (double& value : values) {
    if (is_finite(value)) continue;
    const bool by_chance = stream.negative();
    value = number_for(range, draw, draw == High || (draw != Low && by_chance), stream.unit64());
  }
  Tensor made{view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  narrow_from_double(view.dtype, values, made.data);
  return made;
}

bool holds_large(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::BFloat16;
}

/// Replaces infinities by large numbers. `stream` is the same for all draws.
Tensor limited(const TensorView& view, size_t draw, Stream stream) {
  Tensor made{view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, values);
  for (double& value : values) {
    if (!std::isinf(value)) continue;
    const double above = stream.unit64() * (kLargeMost - kLargeLeast);
    const double power = draw < 2 ? kLargeLeast + above : kLargeMost - above;
    const double large = std::exp2(power - (draw % 2 == 0 ? 0 : kLargeStep));
    value = value > 0 ? large : -large;
  }
  narrow_from_double(view.dtype, values, made.data);
  return made;
}

/// Returns whether a limit replaces elements: infinities of a type that holds the replacements.
bool has_replaceable_infinity(const TensorView& view) {
  return holds_large(view.dtype) && has_infinity(view);
}

bool is_same(double a, double b) { return a == b || std::fabs(a - b) <= kAgree * std::fabs(a); }

bool has_none(const TensorView& view) {
  if (!is_float(view.dtype)) return false;
  std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, values);
  return std::ranges::any_of(values, [](double value) { return !std::isfinite(value); });
}

/// Returns the inputs that contain NaN or infinity.
std::vector<std::string> inputs_with_none(const std::map<std::string, TensorView>& inputs) {
  std::vector<std::string> names;
  for (const auto& [name, view] : inputs) {
    if (has_none(view)) names.push_back(name);
  }
  return names;
}

/// Returns the value on which the answers for one set of inputs agree; NaN if they do not.
double told_by_all(std::span<const TensorView> answers, size_t index) {
  const double first = element(answers.front(), index);
  const bool same = std::ranges::all_of(
      answers, [&](const TensorView& other) { return is_same(first, element(other, index)); });
  if (same) return first;
  const bool grows = std::ranges::all_of(answers, [&](const TensorView& other) {
    return element(other, index) * (first < 0 ? -1 : 1) >= kLargeAnswer;
  });
  return grows ? std::copysign(INFINITY, first) : NAN;
}

/// Returns whether the element grows, with the sign of `infinity`, when the replacement of infinity
/// does.
bool grows_with_infinity(std::span<const TensorView> limits, size_t index, double infinity) {
  if (limits.size() != kMaskedDraws) return false;
  const double sign = infinity < 0 ? -1 : 1;
  for (size_t pair = 0; pair < kMaskedDraws; pair += 2) {
    const double more = element(limits[pair], index), less = element(limits[pair + 1], index);
    if (!((more - less) * sign > kAgree * std::fabs(more))) return false;
  }
  return true;
}

/// Returns the one of two answers that is nearer to the computed value; NaN means no answer. A
/// reference that subtracts what it has added, such as `cumsum(x) - x`, loses small numbers beside
/// the large replacements, and then gives the same wrong number each time.
double nearer(double computed, double told, double other) {
  if (std::isnan(told) || other == computed) return other;
  if (std::isnan(other) || told == computed) return told;
  return std::fabs(other - computed) < std::fabs(told - computed) ? other : told;
}

}  // namespace

DeclaredRanges declared_ranges(const OpConfig& op) {
  DeclaredRanges ranges;
  for (const TensorSpec& input : op.inputs) {
    if (input.range) {
      ranges[input.name] = *input.range;
    }
  }
  return ranges;
}

size_t limit_draws(const std::map<std::string, TensorView>& inputs) {
  const bool any = std::ranges::any_of(
      inputs, [](const auto& input) { return has_replaceable_infinity(input.second); });
  return any ? kMaskedDraws : 0;
}

size_t masked_draws(const std::map<std::string, TensorView>& inputs) {
  const size_t count = inputs_with_none(inputs).size();
  return kMaskedDraws * (count > 1 ? 1 + count : count) + limit_draws(inputs);
}

NamedTensors finite_inputs(const std::map<std::string, TensorView>& inputs,
                           const DeclaredRanges& ranges, DrawnFor drawn, size_t number) {
  const std::vector<std::string> with_none = inputs_with_none(inputs);
  const size_t draw = number % kMaskedDraws;
  const size_t limits = limit_draws(inputs);
  const bool is_limit = number < limits;
  const size_t set = is_limit ? 0 : (number - limits) / kMaskedDraws;
  NamedTensors made;
  for (const auto& [name, view] : inputs) {
    made[name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
    const std::string label = fmt::format("masked/{}/{}", name, draw);
    if (is_limit && has_replaceable_infinity(view)) {
      made[name] = limited(view, draw, Stream(drawn.base_seed, drawn.iteration, "limit/" + name));
    }
    if (set > 0 && name != with_none[set - 1]) continue;
    const auto declared = ranges.find(name);
    const Range* range = declared == ranges.end() ? nullptr : &declared->second;
    auto other =
        finite(view_of(made[name]), range, draw, Stream(drawn.base_seed, drawn.iteration, label));
    if (other) made[name] = *std::move(other);
  }
  return made;
}

NamedTensors numbers_for_infinity(const std::map<std::string, TensorView>& inputs,
                                  const DeclaredRanges& ranges, DrawnFor drawn) {
  NamedTensors made;
  bool any = false;
  for (const auto& [name, view] : inputs) {
    Tensor& copy = made[name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
    if (!is_float(view.dtype)) continue;
    std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
    widen_to_double(view.dtype, view.data, values);
    const auto declared = ranges.find(name);
    const Range* range = declared == ranges.end() ? nullptr : &declared->second;
    Stream stream(drawn.base_seed, drawn.iteration, "infinity/" + name);
    for (double& value : values) {
      if (!std::isinf(value)) continue;
      any = true;
      value = number_for(range, value > 0 ? High : Low, value > 0, stream.unit64());
    }
    narrow_from_double(view.dtype, values, copy.data);
  }
  return any ? made : NamedTensors{};
}

std::vector<size_t> masked_candidates(const Comparison& comparison) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  std::vector<size_t> found;
  if (!is_float(reference.dtype) || reference.shape != output.shape) return found;
  for (size_t i = 0; i < static_cast<size_t>(element_count(reference.shape)); ++i) {
    const double expected = element(reference, i), computed = element(output, i);
    if (std::isfinite(expected) || std::isnan(computed) || computed == expected) continue;
    found.push_back(i);
  }
  return found;
}

bool may_be_masked(std::span<const TensorView> answers, std::span<const size_t> of) {
  const bool comparable = std::ranges::all_of(answers, [&](const TensorView& other) {
    return is_float(other.dtype) && other.dtype == answers.front().dtype &&
           other.shape == answers.front().shape && std::ranges::all_of(of, [&](size_t index) {
             return index < static_cast<size_t>(element_count(other.shape));
           });
  });
  return comparable && !answers.empty() && std::ranges::any_of(of, [&](size_t index) {
           return !std::isnan(told_by_all(answers, index));
         });
}

void drop_decided(std::span<const TensorView> answers, std::vector<size_t>& of) {
  std::erase_if(of, [&](size_t index) { return !std::isnan(told_by_all(answers, index)); });
}

std::optional<Tensor> masked_reference(const Comparison& comparison,
                                       std::span<const TensorView> answers,
                                       std::span<const TensorView> limits) {
  const TensorView& reference = comparison.reference;
  const auto is_alike = [&](const TensorView& other) {
    return other.dtype == reference.dtype && other.shape == reference.shape;
  };
  if (answers.size() % kMaskedDraws != 0 || !std::ranges::all_of(answers, is_alike) ||
      !std::ranges::all_of(limits, is_alike)) {
    return std::nullopt;
  }
  const size_t bytes = byte_size(reference.dtype);
  std::optional<Tensor> made;
  for (const size_t i : masked_candidates(comparison)) {
    const double computed = element(comparison.output, i);
    double told = NAN;
    if (std::isinf(computed) && grows_with_infinity(limits, i, computed)) told = computed;
    for (size_t first = 0; first < answers.size(); first += kMaskedDraws) {
      told = nearer(computed, told, told_by_all(answers.subspan(first, kMaskedDraws), i));
    }
    if (std::isnan(told)) continue;
    if (!made) {
      made = {reference.dtype, reference.shape, {reference.data.begin(), reference.data.end()}};
    }
    narrow_from_double(reference.dtype, std::span(&told, 1),
                       std::span(made->data).subspan(i * bytes, bytes));
  }
  return made;
}

}  // namespace gpuemu
