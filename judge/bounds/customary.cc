#include "judge/bounds/customary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/bounds/blocks.h"
#include "judge/bounds/conditioning.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Sums of n terms round their partial sums; this many roundings times sqrt(n) allow for it. The
/// widening is limited, because the customary tolerances are meant for sums of ordinary length.
constexpr double kTimesRoot = 1.5, kWideningMost = 4;

/// Returns by how much possible sums in the op widen the customary tolerance of float32 and
/// float64. For 16-bit types the customary tolerance is wide enough already.
double widening_of(const Comparison& comparison, CustomaryTolerance tolerance) {
  const FloatFormat& format = format_of(comparison.output.dtype);
  if (format.unit > format_of(DType::Float32).unit) return 1;
  std::vector<Shape> inputs;
  for (const auto& [name, input] : comparison.inputs) inputs.push_back(input.shape);
  const double terms = terms_of(inputs, comparison.output.shape);
  return std::clamp(kTimesRoot * std::sqrt(terms) * 2 * format.unit / tolerance.rtol, 1.0,
                    kWideningMost);
}

constexpr double kExactMost = 0x1p24;

bool is_whole(double value) { return value == std::nearbyint(value); }

/// Returns false if an element is not a whole number.
bool are_whole(const TensorView& tensor) {
  std::array<double, kBlockElements> buffer;
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t at = 0; at < count; at += kBlockElements) {
    const size_t size = std::min(kBlockElements, count - at);
    if (!std::ranges::all_of(as_doubles(tensor, at, {buffer.data(), size}), is_whole)) {
      return false;
    }
  }
  return true;
}

/// Returns the root mean square of the finite elements [first, first + count). Scales by the
/// largest, because squares of float64 overflow.
double root_mean_square(const TensorView& tensor, size_t first, size_t count) {
  std::array<double, kBlockElements> buffer;
  double largest = 0, squares = 0;
  size_t finite = 0;
  const auto each_block = [&](const auto& use) {
    for (size_t at = 0; at < count; at += kBlockElements) {
      const size_t size = std::min(kBlockElements, count - at);
      use(as_doubles(tensor, first + at, {buffer.data(), size}));
    }
  };
  each_block([&](std::span<const double> values) {
    for (const double value : values) {
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
  });
  if (largest == 0) return 0;
  each_block([&](std::span<const double> values) {
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      squares += (value / largest) * (value / largest);
      ++finite;
    }
  });
  return largest * std::sqrt(squares / static_cast<double>(finite));
}

}  // namespace

CustomaryTolerance customary_tolerance(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return {1e-3, 1e-5};
    case DType::BFloat16:
      return {1.6e-2, 1e-5};
    case DType::Float64:
      return {1e-7, 1e-7};
    default:
      return {1.3e-6, 1e-5};
  }
}

Customary::Customary(const Comparison& comparison)
    : tolerance_(customary_tolerance(comparison.output.dtype)) {
  const double widening = widening_of(comparison, tolerance_);
  tolerance_.rtol *= widening;
  tolerance_.atol *= widening;
  const TensorView& reference = comparison.reference;
  const auto count = static_cast<size_t>(element_count(reference.shape));
  if (!reference.shape.empty() && reference.shape.back() > 0) {
    row_size_ = static_cast<size_t>(reference.shape.back());
  }
  for (size_t first = 0; first < count; first += row_size_) {
    rows_.push_back(root_mean_square(reference, first, std::min(row_size_, count - first)));
  }
  inputs_are_whole_ = format_of(comparison.output.dtype).unit <= format_of(DType::Float32).unit &&
                      std::ranges::all_of(comparison.inputs, [](const auto& input) {
                        return !is_float(input.second.dtype) || are_whole(input.second);
                      });
  for (const auto& [name, input] : comparison.inputs) {
    if (!is_float(input.dtype)) continue;
    const auto elements = static_cast<size_t>(element_count(input.shape));
    inputs_ = std::max(inputs_, root_mean_square(input, 0, elements));
  }
}

double Customary::magnitude(size_t index) const {
  return std::max(rows_[index / row_size_], std::min(inputs_, 1.0));
}

double Customary::at(size_t index, double reference) const {
  return tolerance_.rtol * std::fabs(reference) + tolerance_.atol * magnitude(index);
}

bool Customary::is_exact(double reference, double computed) const {
  return inputs_are_whole_ && is_whole(reference) && is_whole(computed) &&
         std::fabs(reference) <= kExactMost;
}

}  // namespace gpuemu
