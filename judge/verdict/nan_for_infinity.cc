#include "judge/verdict/nan_for_infinity.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Returns a copy of the reference with elements replaced by `value`; nothing if it replaces none.
template <typename Value>
std::optional<Tensor> replaced(const TensorView& reference, const Value& value) {
  const size_t bytes = byte_size(reference.dtype);
  std::optional<Tensor> made;
  for (size_t i = 0; i < static_cast<size_t>(element_count(reference.shape)); ++i) {
    const std::optional<double> other = value(i);
    if (!other) continue;
    if (!made) {
      made = {reference.dtype, reference.shape, {reference.data.begin(), reference.data.end()}};
    }
    narrow_from_double(reference.dtype, std::span(&*other, 1),
                       std::span(made->data).subspan(i * bytes, bytes));
  }
  return made;
}

}  // namespace

bool has_infinity(const TensorView& view) {
  if (!is_float(view.dtype)) return false;
  std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, values);
  return std::ranges::any_of(values, [](double value) { return std::isinf(value); });
}

std::optional<Tensor> nan_for_infinity(const Comparison& comparison) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const bool comparable =
      is_float(output.dtype) && is_float(reference.dtype) && output.shape == reference.shape &&
      std::ranges::any_of(comparison.inputs,
                          [](const auto& input) { return has_infinity(input.second); });
  if (!comparable) return std::nullopt;
  return replaced(reference, [&](size_t i) -> std::optional<double> {
    const bool accepted = std::isnan(element(output, i)) && std::isinf(element(reference, i));
    return accepted ? std::optional<double>(NAN) : std::nullopt;
  });
}

std::optional<Tensor> infinity_for_nan(const Comparison& comparison, const TensorView& without) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const bool comparable = is_float(output.dtype) && is_float(reference.dtype) &&
                          is_float(without.dtype) && output.shape == reference.shape &&
                          without.shape == reference.shape;
  if (!comparable) return std::nullopt;
  return replaced(reference, [&](size_t i) -> std::optional<double> {
    const double computed = element(output, i);
    const bool accepted = std::isinf(computed) && std::isnan(element(reference, i)) &&
                          !std::isnan(element(without, i));
    return accepted ? std::optional<double>(computed) : std::nullopt;
  });
}

}  // namespace gpuemu
