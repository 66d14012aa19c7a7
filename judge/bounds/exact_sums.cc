#include "judge/bounds/exact_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"
#include "judge/cases/strategies.h"

namespace gpuemu {
namespace {

/// Returns the largest magnitude; nothing if an element is not a whole number.
std::optional<double> largest_whole(const TensorView& view) {
  std::vector<double> wide(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, wide);
  double largest = 0;
  for (const double value : wide) {
    if (!std::isfinite(value) || value != std::floor(value)) return std::nullopt;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

/// Returns whether attributes are exact with few bits. Products with factors such as 0.1 are
/// rounded.
bool has_short_attrs(const CasePlan& plan) {
  constexpr double kSteps = 256;
  return std::ranges::all_of(plan.attrs, [](const auto& attr) {
    return attr.second * kSteps == std::floor(attr.second * kSteps);
  });
}

DType accumulator_of(const OpConfig& op, DType output) {
  if (op.accumulate_dtype && is_float(*op.accumulate_dtype)) return *op.accumulate_dtype;
  return byte_size(output) == 2 ? DType::Float32 : output;
}

}  // namespace

bool compares_exactly(const ExactQuestion& question, const TensorView& reference, DType output) {
  if (!is_float(output) || !has_exact_sums(question.op) || !has_short_attrs(question.plan)) {
    return false;
  }
  double factor = 1;
  for (const auto& [name, view] : question.inputs) {
    const auto largest = largest_whole(view);
    if (!largest) return false;
    factor = std::max(factor, *largest);
  }
  // Two factors per term; a bias and a former output add two more terms.
  const double most = static_cast<double>(question.terms + 2) * factor * factor;
  if (most > std::ldexp(1.0, format_of(accumulator_of(question.op, output)).precision)) {
    return false;
  }
  const auto largest = largest_whole(reference);
  return largest && *largest <= std::ldexp(1.0, format_of(output).precision);
}

}  // namespace gpuemu
