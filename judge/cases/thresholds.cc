#include "judge/cases/thresholds.h"

#include <cmath>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

/// Numbers with at most this many bits equal their decimal text in every language.
constexpr int kExactBits = 12;

bool is_exact(double number) {
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(number, &exponent), kExactBits);
  return mantissa == std::rint(mantissa);
}

void add_around(DType dtype, double number, std::vector<double>& values) {
  if (!is_float(dtype)) {
    for (const double off : {-1.0, 0.0, 1.0}) values.push_back(number + off);
    return;
  }
  const double rounded = round_to(dtype, number);
  if (!std::isfinite(rounded)) return;
  values.push_back(next_below(dtype, rounded));
  if (rounded == number && is_exact(number)) values.push_back(number);
  values.push_back(next_above(dtype, rounded));
}

}  // namespace

std::vector<double> values_around(const ValueRecipe& recipe, const Domain& domain) {
  const bool of_floats = recipe.strategy == Strategy::Thresholds;
  if (is_float(recipe.dtype) && !of_floats) return {};
  // Integer inputs beside floats get the whole numbers among the floats' thresholds.
  const bool only_whole = of_floats && !is_float(recipe.dtype);
  std::vector<double> all, kept;
  for (const double number : recipe.parameters) {
    if (only_whole && number != std::trunc(number)) continue;
    add_around(recipe.dtype, number, all);
  }
  for (const double value : all) {
    if (value >= domain.lo && value <= domain.hi) kept.push_back(value);
  }
  return kept;
}

}  // namespace gpuemu
