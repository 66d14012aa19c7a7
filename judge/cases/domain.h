// What the values of one input follow from, and the numbers that they keep to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/vocabulary.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

struct ValueRecipe {
  uint64_t base_seed = 0, iteration = 0;
  std::string input;
  Strategy strategy = Strategy::None;
  double scale = 1.0;
  DType dtype = DType::Float32;
  Shape shape;
  std::optional<std::pair<double, double>> range;
  /// CasePlan::value_parameters.
  std::vector<double> parameters = {};
  /// As TensorSpec has them.
  bool distinct = false, sorted = false;
};

/// The closed interval that values must lie in, its ends representable.
struct Domain {
  double lo, hi;
  bool declared;
};

Domain domain_of(const ValueRecipe& recipe);

/// Where ordinary values lie: a declared range, else -10 to 10.
std::pair<double, double> usual_interval(const ValueRecipe& recipe, const Domain& domain);

inline double clamped(double value, const Domain& domain) {
  return value < domain.lo ? domain.lo : value > domain.hi ? domain.hi : value;
}

/// An infinity on the side where the domain has no number.
bool is_excluded(double value, const Domain& domain);

/// The numbers of a floating-point dtype next to `value`, which is one of them.
double next_below(DType dtype, double value);
double next_above(DType dtype, double value);

}  // namespace gpuemu
