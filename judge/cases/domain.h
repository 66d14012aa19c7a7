// The parameters that determine one input's values, and the interval that they must be in.
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
  /// See CasePlan::value_parameters.
  std::vector<double> parameters = {};
  /// See TensorSpec.
  bool distinct = false, sorted = false;
};

/// The closed interval of allowed values; its ends are representable.
struct Domain {
  double lo, hi;
  bool declared;
};

Domain domain_of(const ValueRecipe& recipe);

/// Returns the interval of ordinary values: the declared range, else -10 to 10.
std::pair<double, double> usual_interval(const ValueRecipe& recipe, const Domain& domain);

inline double clamped(double value, const Domain& domain) {
  return value < domain.lo ? domain.lo : value > domain.hi ? domain.hi : value;
}

/// Returns whether it is an infinity on a side where the domain has no numbers.
bool is_excluded(double value, const Domain& domain);

/// Return the neighbours of `value`, a number of the floating-point dtype.
double next_below(DType dtype, double value);
double next_above(DType dtype, double value);

}  // namespace gpuemu
