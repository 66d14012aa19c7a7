#include "judge/cases/value_rules.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

/// Up to here every whole number is a float64.
constexpr double kExact = 0x1p53;

/// Hands out whole numbers of an interval, each once. Numbers that are gone lead to a later one, so
/// that a run of them is walked over once.
class FreeNumbers {
 public:
  FreeNumbers(double lo, double hi) : lo_(lo), hi_(hi) {}

  /// The least one that is left from `wanted` on, else the least of all. REQUIRES: one is left.
  double take(double wanted) {
    double free = left_from(wanted);
    if (free > hi_) free = left_from(lo_);
    next_[free] = free + 1;
    return free;
  }

 private:
  double left_from(double number) {
    double end = number;
    for (auto at = next_.find(end); at != next_.end(); at = next_.find(end)) end = at->second;
    while (number != end) {
      double& next = next_[number];
      number = next;
      next = end;
    }
    return end;
  }

  double lo_, hi_;
  std::unordered_map<double, double> next_;
};

bool is_before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

double whole_numbers_in(const Domain& domain) {
  return std::floor(domain.hi) - std::ceil(domain.lo) + 1;
}

void keep_value_rules(const ValueRecipe& recipe, const Domain& domain, std::span<std::byte> bytes) {
  if (!recipe.distinct && !recipe.sorted) return;
  std::vector<double> values(bytes.size() / byte_size(recipe.dtype));
  widen_to_double(recipe.dtype, bytes, values);
  if (recipe.distinct && !is_float(recipe.dtype) &&
      static_cast<double>(values.size()) <= whole_numbers_in(domain)) {
    const double lo = std::max(domain.lo, -kExact), hi = std::min(domain.hi, kExact);
    FreeNumbers free(lo, hi);
    for (double& value : values) value = free.take(std::clamp(value, lo, hi));
  }
  if (recipe.sorted) {
    const size_t row = recipe.shape.empty() ? 1 : static_cast<size_t>(recipe.shape.back());
    for (auto at = values.begin(); at != values.end(); at += static_cast<ptrdiff_t>(row)) {
      std::stable_sort(at, at + static_cast<ptrdiff_t>(row), is_before);
    }
  }
  narrow_from_double(recipe.dtype, values, bytes);
}

}  // namespace gpuemu
