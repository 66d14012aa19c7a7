#include "judge/cases/value_rules.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

/// Up to here, float64 represents every whole number.
constexpr double kExact = 0x1p53;

/// Hands out the whole numbers of an interval, each once. Used numbers link to a later one, so that
/// a run of them is traversed only once.
class FreeNumbers {
 public:
  FreeNumbers(double lo, double hi) : lo_(lo), hi_(hi) {}

  /// Returns the smallest free number from `wanted` on, else the smallest of all. Requires a free
  /// number.
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

template <typename T, typename Before>
void sort_rows(std::span<T> values, const Shape& shape, Before before) {
  const size_t row = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  for (size_t at = 0; at < values.size(); at += row) {
    std::ranges::stable_sort(values.subspan(at, row), before);
  }
}

/// Sorts in the integer type, because not every 64-bit integer is a float64.
template <typename T>
void sort_integers(const Shape& shape, std::span<std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  sort_rows(std::span(values), shape, std::less<T>());
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

void draw_distinct(DType dtype, const Domain& domain, std::span<std::byte> bytes) {
  std::vector<double> values(bytes.size() / byte_size(dtype));
  if (is_float(dtype) || static_cast<double>(values.size()) > whole_numbers_in(domain)) return;
  widen_to_double(dtype, bytes, values);
  const double lo = std::max(std::ceil(domain.lo), -kExact);
  const double hi = std::min(std::floor(domain.hi), kExact);
  FreeNumbers free(lo, hi);
  for (double& value : values) value = free.take(std::clamp(value, lo, hi));
  narrow_from_double(dtype, values, bytes);
}

void sort_values(DType dtype, const Shape& shape, std::span<std::byte> bytes) {
  if (dtype == DType::Int64) return sort_integers<int64_t>(shape, bytes);
  if (dtype == DType::UInt64) return sort_integers<uint64_t>(shape, bytes);
  std::vector<double> values(bytes.size() / byte_size(dtype));
  widen_to_double(dtype, bytes, values);
  sort_rows(std::span(values), shape, is_before);
  narrow_from_double(dtype, values, bytes);
}

}  // namespace

double whole_numbers_in(const Domain& domain) {
  return std::floor(domain.hi) - std::ceil(domain.lo) + 1;
}

void keep_value_rules(const ValueRecipe& recipe, const Domain& domain, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  if (recipe.distinct) draw_distinct(recipe.dtype, domain, bytes);
  if (recipe.sorted) sort_values(recipe.dtype, recipe.shape, bytes);
}

}  // namespace gpuemu
