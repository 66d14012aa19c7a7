// Draws, folds, scales and clamps the values of one input.
#include "judge/cases/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/numeric/element.h"
#include "common/numeric/infinity.h"
#include "common/rng/fill.h"
#include "judge/cases/case.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/rows.h"
#include "judge/cases/thresholds.h"
#include "judge/cases/value_rules.h"

namespace gpuemu {
namespace {

constexpr double kExactInteger = 0x1p53;

/// What a strategy draws, before folding, scaling and clamping.
struct Recipe {
  Distribution distribution;
  double core_lo, core_hi;  ///< Interval of most values.
  bool symmetric;           ///< Draws both signs; folded if the domain has only one.
  double factor = 1;        ///< Multiplies each value.
};

Recipe uniform_recipe(const ValueRecipe& recipe, const Domain& domain) {
  const auto [lo, hi] = usual_interval(recipe, domain);
  if (is_float(recipe.dtype)) return {Distribution::uniform(lo, hi), lo, hi, false};
  const auto from = static_cast<int64_t>(std::clamp(lo, -kExactInteger, kExactInteger));
  const auto until = static_cast<int64_t>(std::clamp(hi, -kExactInteger, kExactInteger));
  return {Distribution::integer(from, until), lo, hi, false};
}

/// Values far from 0 and close together. If the domain does not contain 1000, at its end farther
/// from 0; if both are equally far, at the lower end, because `uniform10` already draws large
/// positive values.
Recipe offset_recipe(double centre, const Domain& domain) {
  if (domain.lo <= centre + 1 && domain.hi >= centre - 1) {
    return {Distribution::uniform(centre - 1, centre + 1), centre - 1, centre + 1, false};
  }
  const double width = std::min(2.0, (domain.hi - domain.lo) / 50);
  const bool below = std::abs(domain.lo) >= std::abs(domain.hi);
  const double lo = below ? domain.lo : domain.hi - width;
  const double hi = below ? domain.lo + width : domain.hi;
  return {Distribution::uniform(lo, hi), lo, hi, false};
}

Recipe float_recipe(const ValueRecipe& recipe, const Domain& domain) {
  const FloatLimits limits = float_limits(recipe.dtype);
  const Strategy strategy = recipe.strategy;
  const bool wide = recipe.dtype == DType::Float32 || recipe.dtype == DType::Float64;
  if (strategy == Strategy::BitsUniform) return {Distribution::log_uniform(-12, 4), -1, 1, true};
  if (strategy == Strategy::Unit) return {Distribution::uniform(0, 1), 0, 1, false};
  if (strategy == Strategy::Normal) return {Distribution::normal(0, 1), -1, 1, true};
  if (strategy == Strategy::Offset) return offset_recipe(wide ? 1000.0 : 100.0, domain);
  if (strategy == Strategy::Tiny) {
    const double most = 4 * limits.min_normal;
    return {Distribution::uniform(-most, most), -most, most, true};
  }
  if (strategy == Strategy::Subnormal) {
    const double most = 100 * limits.min_subnormal;
    return {Distribution::integer(-100, 100), -most, most, true, limits.min_subnormal};
  }
  if (strategy == Strategy::AllNeg) return {Distribution::uniform(-10, -5), -10, -5, false};
  if (strategy == Strategy::AllPos) return {Distribution::uniform(5, 10), 5, 10, false};
  if (strategy == Strategy::NearMax) {
    const int top = std::ilogb(limits.max);
    return {Distribution::log_uniform(top - 2, top), -limits.max, limits.max, true};
  }
  if (strategy == Strategy::MixedAdversarial) return {Distribution::normal(0, 1), -1, 1, true};
  if (strategy == Strategy::Large) {
    double most = std::min(1e15, std::sqrt(limits.max) / 2);
    if (domain.declared) most = std::min(most, std::max(std::abs(domain.lo), std::abs(domain.hi)));
    return {Distribution::uniform(-most, most), -most, most, true};
  }
  return uniform_recipe(recipe, domain);
}

Recipe recipe_of(const ValueRecipe& recipe, const Domain& domain) {
  Recipe drawn = uniform_recipe(recipe, domain);
  const bool is_integer = !is_float(recipe.dtype) && recipe.dtype != DType::Bool;
  if (recipe.strategy == Strategy::IntWide && is_integer) {
    // Numbers that float32 cannot hold and products that wrap: every power of two is equally
    // likely.
    const auto bits = static_cast<int64_t>(byte_size(recipe.dtype)) * 8;
    const int64_t top = is_signed_integer(recipe.dtype) ? bits - 2 : bits - 1;
    drawn = {Distribution::log_uniform(0, top), -1, 1, true};
  } else if (recipe.strategy == Strategy::SmallInt) {
    drawn = {Distribution::integer(-3, 3), -3, 3, true};
  } else if (is_float(recipe.dtype)) {
    drawn = float_recipe(recipe, domain);
  }
  double lo = drawn.core_lo;
  double hi = drawn.core_hi;
  if (drawn.symmetric && domain.lo >= 0) lo = 0;
  if (drawn.symmetric && domain.hi <= 0) hi = 0;
  // Otherwise nearly all values would be clamped to one end of the domain, which tests nothing.
  if (hi < domain.lo || lo > domain.hi) return uniform_recipe(recipe, domain);
  return drawn;
}

void draw_values(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const Recipe drawn = recipe_of(recipe, domain);
  fill_doubles(derive_state(recipe.base_seed, recipe.iteration, "input/" + recipe.input),
               drawn.distribution, values);
  if (drawn.factor != 1) {
    for (double& value : values) value *= drawn.factor;
  }
  if (drawn.symmetric && domain.hi <= 0) {
    for (double& value : values) value = -std::abs(value);
  } else if (drawn.symmetric && domain.lo >= 0) {
    for (double& value : values) value = std::abs(value);
  }
}

void ramp(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const auto [lo, hi] = usual_interval(recipe, domain);
  const size_t row = recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
  const double last = row > 1 ? static_cast<double>(row - 1) : 1.0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double part = static_cast<double>(i % row) / last;
    const double rise = part * (hi - lo);
    values[i] = recipe.strategy == Strategy::Ascend ? lo + rise : hi - rise;
  }
}

/// Makes runs of two or more equal values along the last axis; the seed decides in which direction.
void ties(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const auto [lo, hi] = usual_interval(recipe, domain);
  const size_t row = recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
  const size_t levels = std::clamp<size_t>(row / 2, 1, 8);
  const double last = levels > 1 ? static_cast<double>(levels - 1) : 1.0;
  Stream stream(recipe.base_seed, recipe.iteration, "ties/" + recipe.input);
  const bool falling = stream.negative();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t level = i % row * levels / row;
    const double part = static_cast<double>(level) / last;
    const double rise = part * (hi - lo);
    values[i] = falling ? hi - rise : lo + rise;
  }
}

void impulse(const ValueRecipe& recipe, std::span<double> values) {
  std::ranges::fill(values, 0.0);
  Stream stream(recipe.base_seed, recipe.iteration, "impulse/" + recipe.input);
  for (int i = 0; i < 2; ++i) {
    const uint64_t place = stream.below(values.size());
    const double size = 1.0 + 9.0 * stream.unit64();
    values[place] = stream.negative() ? -size : size;
  }
}

/// Picks from a few values with one integer draw per element.
void pick(const ValueRecipe& recipe, std::span<const double> choices, std::span<double> values) {
  fill_doubles(derive_state(recipe.base_seed, recipe.iteration, "input/" + recipe.input),
               Distribution::integer(0, static_cast<int64_t>(choices.size()) - 1), values);
  for (double& value : values) value = choices[static_cast<size_t>(value)];
}

void make_values(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const Strategy strategy = recipe.strategy;
  if (fill_rows(recipe, domain, values)) return;
  if (strategy == Strategy::Zeros) {
    std::ranges::fill(values, 0.0);
  } else if (strategy == Strategy::Ascend || strategy == Strategy::Descend) {
    ramp(recipe, domain, values);
  } else if (strategy == Strategy::Impulse) {
    impulse(recipe, values);
  } else if (strategy == Strategy::Constant) {
    draw_values(recipe, domain, values.first(1));
    std::ranges::fill(values, values[0]);
  } else if (strategy == Strategy::Duplicates) {
    const auto [lo, hi] = usual_interval(recipe, domain);
    const double step = (hi - lo) / 3;
    pick(recipe, std::array{lo, lo + step, lo + 2 * step, hi}, values);
  } else if (strategy == Strategy::SortedTies) {
    ties(recipe, domain, values);
  } else if (strategy == Strategy::SignedZero && is_float(recipe.dtype) && domain.lo <= 0 &&
             domain.hi >= 0) {
    const auto [lo, hi] = usual_interval(recipe, domain);
    pick(recipe, std::array{-0.0, 0.0, lo, hi}, values);
  } else if (strategy == Strategy::IntExtremes && !is_float(recipe.dtype)) {
    pick(recipe, std::array{domain.lo, domain.hi, -1.0, 0.0, 1.0}, values);
  } else {
    draw_values(recipe, domain, values);
  }
}

/// Makes one of four rows negative and one positive, by turns. Only such rows reveal a maximum that
/// begins with 0.
void choose_signs(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const bool is_wide = recipe.strategy == Strategy::IntWide && is_signed_integer(recipe.dtype);
  if (!is_wide || domain.lo >= 0 || domain.hi <= 0) return;
  const size_t row = recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t turn = (i / row + recipe.iteration) % 4;
    if (turn == 1) values[i] = std::max(-std::abs(values[i]), domain.lo);
    if (turn == 3) values[i] = std::min(std::abs(values[i]), domain.hi);
  }
}

/// Returns the NaN or infinity of strategies that plant one.
std::optional<double> planted_value(Strategy strategy) {
  if (strategy == Strategy::OneNan) return std::numeric_limits<double>::quiet_NaN();
  if (strategy == Strategy::OneInf) return kInfinity;
  if (strategy == Strategy::OneNinf) return -kInfinity;
  return std::nullopt;
}

/// A range of a tensor's elements.
struct PlantedPlaces {
  size_t first, count;
};

/// Returns where a NaN or infinity is planted. In a quarter of the cases an infinity is planted at
/// one place; otherwise it fills a whole row of the last axis (of a tensor of one row, a quarter).
/// Only then does a row or a window contain nothing else, which reveals the initial value of a
/// maximum.
PlantedPlaces planted_places(const ValueRecipe& recipe, Stream& stream, size_t count) {
  const size_t place = stream.below(count);
  if (recipe.strategy == Strategy::OneNan || stream.below(4) == 0) return {place, 1};
  const size_t row = recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
  const size_t length = row < count ? row : (count + 3) / 4;
  const size_t first = place / length * length;
  return {first, std::min(length, count - first)};
}

/// Returns the special values that a `special` case mixes with zeros and ones, the same for all of
/// its inputs. They are not mixed with each other: in a sum, NaN hides an infinity, infinities of
/// opposite signs hide each other, and either hides small values.
std::vector<double> special_family(const ValueRecipe& recipe) {
  const FloatLimits limits = float_limits(recipe.dtype);
  switch (Stream(recipe.base_seed, recipe.iteration, "special").below(4)) {
    case 0:
      return {limits.min_normal, -limits.min_normal, limits.min_subnormal, -limits.min_subnormal};
    case 1:
      return {kInfinity};
    case 2:
      return {-kInfinity};
    default:
      return {std::numeric_limits<double>::quiet_NaN()};
  }
}

/// Returns the values that `special`, `mixed_adversarial` and the thresholds pick from; empty for
/// other strategies.
std::vector<double> special_values(const ValueRecipe& recipe, const Domain& domain) {
  if (recipe.strategy == Strategy::Thresholds || recipe.strategy == Strategy::IntThresholds) {
    return values_around(recipe, domain);
  }
  if (!is_float(recipe.dtype)) return {};
  if (recipe.strategy != Strategy::Special && recipe.strategy != Strategy::MixedAdversarial) {
    return {};
  }
  std::vector<double> table = {0.0, -0.0, 1.0, -1.0};
  if (recipe.strategy == Strategy::Special) {
    for (const double value : special_family(recipe)) {
      if (!is_excluded(value, domain)) table.push_back(value);
    }
    return table;
  }
  const FloatLimits limits = float_limits(recipe.dtype);
  for (const double value :
       {limits.min_normal, limits.min_subnormal, std::sqrt(limits.max) / 2, limits.max}) {
    table.push_back(value);
    table.push_back(-value);
  }
  return table;
}

/// Overwrites drawn values with special ones. Special values that are numbers stay in the domain.
void plant(const ValueRecipe& recipe, const Domain& domain, std::span<double> values) {
  const std::string label = "special/" + recipe.input;
  if (plant_in_rows(recipe, domain, values)) return;
  if (const auto planted = planted_value(recipe.strategy)) {
    if (!is_float(recipe.dtype) || is_excluded(*planted, domain)) return;
    Stream stream(recipe.base_seed, recipe.iteration, label);
    const PlantedPlaces places = planted_places(recipe, stream, values.size());
    std::ranges::fill(values.subspan(places.first, places.count), *planted);
    return;
  }
  const std::vector<double> table = special_values(recipe, domain);
  if (table.empty()) return;
  std::vector<double> rows(values.size());
  const double probability = recipe.strategy == Strategy::Special ? 0.125 : 0.5;
  fill_doubles(derive_state(recipe.base_seed, recipe.iteration, label),
               Distribution::special(static_cast<int64_t>(table.size()), probability), rows);
  for (size_t i = 0; i < values.size(); ++i) {
    if (rows[i] < 0) continue;
    const double value = table[static_cast<size_t>(rows[i])];
    values[i] = std::isfinite(value) ? clamped(value, domain) : value;
  }
}

/// Inlined into a function for each set of vectors.
[[gnu::always_inline]] inline void scale_and_clamp_any(std::span<double> values, double scale,
                                                       const Domain& domain) {
  // Copies: what the loop writes could be one of them.
  const double factor = scale, lo = domain.lo, hi = domain.hi;
  for (double& value : values) {
    const double scaled = value * factor, raised = scaled < lo ? lo : scaled;
    value = raised > hi ? hi : raised;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void scale_and_clamp_avx2(std::span<double> values, double scale,
                                                  const Domain& domain) {
  scale_and_clamp_any(values, scale, domain);
}
#endif

void scale_and_clamp(std::span<double> values, double scale, const Domain& domain) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return scale_and_clamp_avx2(values, scale, domain);
#endif
  scale_and_clamp_any(values, scale, domain);
}

/// Along axes with stride 0, every element is the first one.
void share_elements(const CaseTensor& tensor, std::span<std::byte> to) {
  size_t inner = byte_size(tensor.dtype);
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(tensor.shape[axis]);
    if (tensor.layout.strides[axis] == 0 && size > 1) {
      for (size_t at = 0; at < to.size(); at += size * inner) {
        const auto first = to.subspan(at, inner);
        for (size_t i = 1; i < size; ++i) {
          std::ranges::copy(first, to.subspan(at + i * inner, inner).begin());
        }
      }
    }
    inner *= size;
  }
}

}  // namespace

void fill_values(const ValueRecipe& recipe, std::span<std::byte> to) {
  const auto count = static_cast<size_t>(element_count(recipe.shape));
  GPUEMU_CHECK(to.size() == count * byte_size(recipe.dtype));
  if (count == 0) return;
  const Domain domain = domain_of(recipe);
  const auto memory = std::make_unique_for_overwrite<double[]>(count);
  const std::span values(memory.get(), count);
  make_values(recipe, domain, values);
  scale_and_clamp(values, recipe.scale, domain);
  choose_signs(recipe, domain, values);
  plant(recipe, domain, values);
  narrow_from_double(recipe.dtype, values, to);
  keep_value_rules(recipe, domain, to);
}

void fill_input(const OpConfig& op, const CasePlan& plan, size_t index, std::span<std::byte> to) {
  GPUEMU_CHECK(index < plan.inputs.size());
  const CaseTensor& input = plan.inputs[index];
  if (plan.stored) {
    const auto kept = plan.stored->find(input.name);
    GPUEMU_CHECK(kept != plan.stored->end() && kept->second.data.size() == to.size());
    std::ranges::copy(kept->second.data, to.begin());
    return;
  }
  ValueRecipe recipe{plan.base_seed,      plan.iteration,   input.name,
                     plan.value_strategy, plan.value_scale, input.dtype,
                     input.shape,         std::nullopt,     plan.value_parameters};
  recipe.range = declared_range(op, plan, input.name);
  const auto spec = std::ranges::find(op.inputs, input.name, &TensorSpec::name);
  if (spec != op.inputs.end()) {
    recipe.distinct = spec->distinct;
    recipe.sorted = spec->sorted;
  }
  fill_values(recipe, to);
  share_elements(input, to);
}

}  // namespace gpuemu
