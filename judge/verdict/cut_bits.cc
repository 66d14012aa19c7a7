#include "judge/verdict/cut_bits.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Elements that are looked at, spread over the output.
constexpr size_t kLookedAtMax = 4096;
/// A few equal values say nothing, because all of them round the same way.
constexpr size_t kDifferentMin = 32;
/// Positions in the gap between two neighbours where the nearest one is clear.
constexpr double kClearPlace = 0.125, kHalfPlace = 0.5;
/// One element in this many may be off for another reason.
constexpr size_t kOthersShare = 20;

}  // namespace

bool cuts_bits_off(const Comparison& comparison) {
  const TensorView &output = comparison.output, &wanted = comparison.reference;
  const bool is_narrow = output.dtype == DType::Float16 || output.dtype == DType::BFloat16;
  if (!is_narrow || !comparison.has_reference || wanted.dtype != DType::Float64 ||
      output.shape != wanted.shape) {
    return false;
  }
  const FloatFormat& format = format_of(output.dtype);
  const auto count = static_cast<size_t>(element_count(output.shape));
  const size_t step = std::max<size_t>(1, (count + kLookedAtMax - 1) / kLookedAtMax);
  std::set<double> cut;
  size_t seen = 0, others = 0;
  for (size_t i = 0; i < count; i += step) {
    const double reference = element(wanted, i), value = element(output, i);
    if (!std::isfinite(reference) || !std::isfinite(value) || value == 0) continue;
    const double unit = ulp_at(format, reference), magnitude = std::fabs(reference) / unit;
    const double place = magnitude - std::floor(magnitude);
    const bool rises = place > kHalfPlace + kClearPlace && place < 1 - kClearPlace;
    const bool falls = place > kClearPlace && place < kHalfPlace - kClearPlace;
    if (!rises && !falls) continue;
    ++seen;
    const bool is_cut = std::fabs(value) == std::floor(magnitude) * unit;
    if (!is_cut) ++others;
    if (rises && is_cut) cut.insert(reference);
    if (others * kOthersShare > kLookedAtMax) return false;
  }
  return cut.size() >= kDifferentMin && others * kOthersShare <= seen;
}

}  // namespace gpuemu
