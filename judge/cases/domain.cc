#include "judge/cases/domain.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "common/numeric/infinity.h"

namespace gpuemu {
namespace {

/// Returns the number of the format that is nearest to `value` without going beyond it, on the side
/// of `toward`.
double round_inward(DType dtype, double value, double toward) {
  const double rounded = round_to(dtype, value);
  const bool outside = toward > value ? rounded < value : rounded > value;
  if (!outside) return rounded;
  // A little more than half a step, so that rounding gives the neighbour.
  const FloatLimits limits = float_limits(dtype);
  const double step = std::max(std::abs(rounded) * limits.ulp_of_one, limits.min_subnormal);
  double probe = value;
  for (int i = 1; i <= 4; ++i) {
    probe = value + (toward > value ? step : -step) * (0.25 * i);
    const double next = round_to(dtype, probe);
    if (toward > value ? next >= value : next <= value) return next;
  }
  return rounded;
}

/// Returns whether the strategy draws whole numbers from the full range of their type.
bool takes_whole_type(Strategy strategy) {
  return strategy == Strategy::IntExtremes || strategy == Strategy::IntWide ||
         strategy == Strategy::IntThresholds;
}

/// Returns whether a strategy of floats draws all bits of the input's words: unsigned 16- and
/// 32-bit words beside floats hold packed numbers more often than an index.
bool takes_all_bits(DType dtype, Strategy strategy) {
  const bool word = dtype == DType::UInt16 || dtype == DType::UInt32;
  return word && (strategy == Strategy::TileMaxima || strategy == Strategy::RowMix ||
                  strategy == Strategy::BitsUniform || strategy == Strategy::Large);
}

}  // namespace

Domain domain_of(const ValueRecipe& recipe) {
  const DType dtype = recipe.dtype;
  const double least = lowest_value(dtype);
  const double most = highest_value(dtype);
  if (is_float(dtype)) {
    if (!recipe.range) return {least, most, false};
    const double lo = round_inward(dtype, std::max(recipe.range->first, least), kInfinity);
    const double hi = round_inward(dtype, std::min(recipe.range->second, most), -kInfinity);
    return lo <= hi ? Domain{lo, hi, true} : Domain{lo, lo, true};
  }
  if (recipe.range) {
    const double lo = std::clamp(std::ceil(recipe.range->first), least, most);
    return {lo, std::max(lo, std::clamp(std::floor(recipe.range->second), least, most)), true};
  }
  if (takes_whole_type(recipe.strategy) || dtype == DType::Bool) return {least, most, false};
  if (takes_all_bits(dtype, recipe.strategy)) return {least, most, false};
  return least < 0 ? Domain{-100, 99, false} : Domain{0, 199, false};
}

std::pair<double, double> usual_interval(const ValueRecipe& recipe, const Domain& domain) {
  if (!domain.declared && is_float(recipe.dtype)) return {-10.0, 10.0};
  if (std::isfinite(domain.hi - domain.lo)) return {domain.lo, domain.hi};
  return {domain.lo / 2, domain.hi / 2};
}

bool is_excluded(double value, const Domain& domain) {
  return std::isinf(value) && (value > 0 ? domain.hi <= 0 : domain.lo >= 0);
}

double next_above(DType dtype, double value) {
  if (value < 0) return -next_below(dtype, -value);
  const FloatLimits limits = float_limits(dtype);
  if (value < limits.min_normal) return value + limits.min_subnormal;
  return value + std::ldexp(limits.ulp_of_one, std::ilogb(value));
}

double next_below(DType dtype, double value) {
  if (value <= 0) return -next_above(dtype, -value);
  const FloatLimits limits = float_limits(dtype);
  if (value <= limits.min_normal) return value - limits.min_subnormal;
  const int exponent = std::ilogb(value);
  // Below a power of two, numbers are twice as close.
  const bool is_power = value == std::ldexp(1.0, exponent);
  return value - std::ldexp(limits.ulp_of_one, is_power ? exponent - 1 : exponent);
}

}  // namespace gpuemu
