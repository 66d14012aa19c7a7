#include "judge/bounds/wrapped_integers.h"

#include <cmath>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

constexpr size_t kByteBits = 8;
/// From here on, float64 cannot represent every integer.
constexpr double kWholeEnd = 0x1p53;

bool keeps_lowest_bits(const Comparison& comparison, size_t index) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  uint64_t expected = 0;
  if (is_float(reference.dtype)) {
    const double value = element(reference, index);
    if (!std::isfinite(value)) return false;
    if (std::fabs(value) >= kWholeEnd) return true;
    expected = static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    const std::byte* at = reference.data.data() + index * byte_size(reference.dtype);
    expected = read_as_uint64(reference.dtype, at);
  }
  const size_t bytes = byte_size(output.dtype);
  const uint64_t computed = read_as_uint64(output.dtype, output.data.data() + index * bytes);
  const uint64_t lowest = (uint64_t{1} << (bytes * kByteBits)) - 1;
  return (expected & lowest) == (computed & lowest);
}

}  // namespace

bool is_beyond(DType output, double value) {
  const size_t bytes = byte_size(output);
  const bool is_integer = !is_float(output) && output != DType::Bool;
  if (!is_integer || bytes == sizeof(double) || std::isnan(value)) return false;
  const bool has_sign = is_signed_integer(output);
  const double end = std::ldexp(1.0, static_cast<int>(bytes * kByteBits) - (has_sign ? 1 : 0));
  return value >= end || value < (has_sign ? -end : 0.0);
}

std::vector<uint8_t> wrapped_integers(const Comparison& comparison) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const auto count = static_cast<size_t>(element_count(output.shape));
  std::vector<uint8_t> mask;
  if (reference.shape != output.shape || reference.dtype == output.dtype) return mask;
  for (size_t i = 0; i < count; ++i) {
    if (!is_beyond(output.dtype, element(reference, i)) || !keeps_lowest_bits(comparison, i)) {
      continue;
    }
    mask.resize(count);
    mask[i] = 1;
  }
  return mask;
}

}  // namespace gpuemu
