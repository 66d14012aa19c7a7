#include "judge/verdict/nan_for_infinity.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

bool has_infinity(const TensorView& view) {
  if (!is_float(view.dtype)) return false;
  std::vector<double> values(static_cast<size_t>(element_count(view.shape)));
  widen_to_double(view.dtype, view.data, values);
  return std::ranges::any_of(values, [](double value) { return std::isinf(value); });
}

}  // namespace

std::optional<Tensor> nan_for_infinity(const Comparison& comparison) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const bool comparable =
      is_float(output.dtype) && is_float(reference.dtype) && output.shape == reference.shape &&
      std::ranges::any_of(comparison.inputs,
                          [](const auto& input) { return has_infinity(input.second); });
  if (!comparable) return std::nullopt;
  const size_t bytes = byte_size(reference.dtype);
  const double nan = NAN;
  std::optional<Tensor> made;
  for (size_t i = 0; i < static_cast<size_t>(element_count(reference.shape)); ++i) {
    if (!std::isnan(element(output, i)) || !std::isinf(element(reference, i))) continue;
    if (!made) {
      made = {reference.dtype, reference.shape, {reference.data.begin(), reference.data.end()}};
    }
    narrow_from_double(reference.dtype, std::span(&nan, 1),
                       std::span(made->data).subspan(i * bytes, bytes));
  }
  return made;
}

}  // namespace gpuemu
