#include "judge/verdict/cut_bits.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Elements that are sampled, spread over the output.
constexpr size_t kSampledElementsMax = 4096;
/// Different values that must be cut: equal ones all round the same way.
constexpr size_t kCutValuesMin = 32;
/// A position in the gap between two neighbours decides which is nearest if it is this far from
/// both and from the middle.
constexpr double kClearDistance = 0.125, kMiddle = 0.5;
/// One sampled element in this many may be wrong in another way.
constexpr size_t kExceptionsShare = 20;

}  // namespace

bool cuts_bits_off(const Comparison& comparison) {
  const TensorView &output = comparison.output, &expected = comparison.reference;
  const bool is_narrow = output.dtype == DType::Float16 || output.dtype == DType::BFloat16;
  if (!is_narrow || !comparison.has_reference || expected.dtype != DType::Float64 ||
      output.shape != expected.shape) {
    return false;
  }
  const FloatFormat& format = format_of(output.dtype);
  const auto count = static_cast<size_t>(element_count(output.shape));
  const size_t step = std::max<size_t>(1, (count + kSampledElementsMax - 1) / kSampledElementsMax);
  std::set<double> cut;
  size_t sampled = 0, exceptions = 0;
  for (size_t i = 0; i < count; i += step) {
    const double reference = element(expected, i), value = element(output, i);
    if (!std::isfinite(reference) || !std::isfinite(value) || value == 0) continue;
    const double unit = ulp_at(format, reference), magnitude = std::fabs(reference) / unit;
    const double place = magnitude - std::floor(magnitude);
    const bool rises = place > kMiddle + kClearDistance && place < 1 - kClearDistance;
    const bool falls = place > kClearDistance && place < kMiddle - kClearDistance;
    if (!rises && !falls) continue;
    ++sampled;
    const bool is_cut = std::fabs(value) == std::floor(magnitude) * unit;
    if (!is_cut) ++exceptions;
    if (rises && is_cut) cut.insert(reference);
    if (exceptions * kExceptionsShare > kSampledElementsMax) return false;
  }
  return cut.size() >= kCutValuesMin && exceptions * kExceptionsShare <= sampled;
}

}  // namespace gpuemu
