// Maps both sides to their position in the order of the output's format (order_number); negative
// numbers to the complement of their magnitude's position.
#include "judge/scan/ulps_avx2.h"

#include <bit>
#include <limits>

#include "judge/bounds/avx2.h"
#include "judge/bounds/float_format.h"

#if defined(__x86_64__)

namespace gpuemu {
namespace {

GPUEMU_AVX2_INLINE __m256i in_order_32(__m256i bits) {
  return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

GPUEMU_AVX2_INLINE __m256i in_order_64(__m256i bits) {
  const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), bits);
  return _mm256_xor_si256(bits, _mm256_srli_epi64(negative, 1));
}

/// Loads four 16-bit patterns.
GPUEMU_AVX2_INLINE __m256i in_order_16(const std::byte* from) {
  const __m256i bits =
      _mm256_cvtepu16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  const __m256i sign_bit = _mm256_set1_epi64x(0x8000);
  const __m256i negative = _mm256_cmpeq_epi64(_mm256_and_si256(bits, sign_bit), sign_bit);
  return _mm256_xor_si256(_mm256_andnot_si256(sign_bit, bits), negative);
}

/// Constants for order_number of float64 values in a narrower format.
struct Rounding {
  __m256d min_normal;
  __m256i runs_from, to_digits, infinity;
  __m128i shift;
};

GPUEMU_AVX2 Rounding rounding_to(const FloatFormat& format) {
  const auto min_normal = std::bit_cast<int64_t>(format.min_normal);
  Rounding to;
  to.min_normal = _mm256_set1_pd(format.min_normal);
  to.runs_from = _mm256_set1_epi64x(min_normal);
  // This minus the bits of a power of two gives the bits of 1 / (one ulp there).
  to.to_digits = _mm256_set1_epi64x(
      static_cast<int64_t>(static_cast<uint64_t>(2045 + format.precision) << 52));
  to.infinity = _mm256_set1_epi64x(order_number(format, format.max) + 1);
  to.shift = _mm_cvtsi32_si128(53 - format.precision);
  return to;
}

GPUEMU_AVX2_INLINE __m256i in_order_rounded(__m256d value, const Rounding& to) {
  const __m256d exponent_bits = _mm256_castsi256_pd(_mm256_set1_epi64x(int64_t{0x7FF} << 52));
  const __m256i power =
      _mm256_castpd_si256(_mm256_max_pd(_mm256_and_pd(value, exponent_bits), to.min_normal));
  const __m256d per_ulp = _mm256_castsi256_pd(_mm256_sub_epi64(to.to_digits, power));
  // Adding it to 2^52 makes the hardware round to a whole number, which is then in the low bits.
  const __m256d shifter = _mm256_set1_pd(0x1p52);
  const __m256d digits = _mm256_add_pd(_mm256_mul_pd(magnitude(value), per_ulp), shifter);
  const __m256i runs = _mm256_srl_epi64(_mm256_sub_epi64(power, to.runs_from), to.shift);
  const __m256i place = _mm256_add_epi64(
      runs, _mm256_sub_epi64(_mm256_castpd_si256(digits), _mm256_castpd_si256(shifter)));
  const __m256i capped =
      _mm256_blendv_epi8(place, to.infinity, _mm256_cmpgt_epi64(place, to.infinity));
  const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), _mm256_castpd_si256(value));
  return _mm256_xor_si256(capped, negative);
}

/// Returns the difference as an unsigned number.
GPUEMU_AVX2_INLINE __m256i apart_64(__m256i left, __m256i right) {
  const __m256i swap = _mm256_cmpgt_epi64(right, left);
  return _mm256_sub_epi64(_mm256_xor_si256(_mm256_sub_epi64(left, right), swap), swap);
}

GPUEMU_AVX2 Ulps ulps_float32(const float* output, const WideBlock& block) {
  __m256i largest = _mm256_setzero_si256(), sums = largest;
  for (size_t i = 0; i < block.count; i += 8) {
    const double* reference = block.reference.data() + i;
    const __m256 rounded = _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(reference + 4)),
                                           _mm256_cvtpd_ps(_mm256_loadu_pd(reference)));
    const __m256i left = in_order_32(load_bits(output + i));
    const __m256i right = in_order_32(_mm256_castps_si256(rounded));
    const __m256i distance =
        _mm256_sub_epi32(_mm256_max_epi32(left, right), _mm256_min_epi32(left, right));
    largest = _mm256_max_epu32(largest, distance);
    const __m256i even = _mm256_and_si256(distance, _mm256_set1_epi64x(0xFFFFFFFF));
    sums = _mm256_add_epi64(sums, _mm256_add_epi64(even, _mm256_srli_epi64(distance, 32)));
  }
  Ulps ulps{max_of_32(largest), 0};
  for (const uint64_t sum : numbers_of(sums)) ulps.sum += static_cast<double>(sum);
  return ulps;
}

GPUEMU_AVX2 Ulps ulps_16(const std::byte* output, const FloatFormat& format,
                         const WideBlock& block) {
  const Rounding rounding = rounding_to(format);
  __m256i largest = _mm256_setzero_si256(), sums = largest;
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256i left = in_order_16(output + 2 * i);
    const __m256i right = in_order_rounded(_mm256_loadu_pd(block.reference.data() + i), rounding);
    const __m256i distance = apart_64(left, right);
    largest = _mm256_max_epu32(largest, distance);
    sums = _mm256_add_epi64(sums, distance);
  }
  Ulps ulps{max_of_32(largest), 0};
  for (const uint64_t sum : numbers_of(sums)) ulps.sum += static_cast<double>(sum);
  return ulps;
}

GPUEMU_AVX2 Ulps ulps_float64(const WideBlock& block) {
  Ulps ulps;
  alignas(32) std::array<uint64_t, 4> apart;
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256i left = in_order_64(load_bits(block.output.data() + i));
    const __m256i right = in_order_64(load_bits(block.reference.data() + i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(apart.data()), apart_64(left, right));
    for (const uint64_t distance : apart) {
      ulps.max = std::max(ulps.max, distance);
      ulps.sum += static_cast<double>(distance);
    }
  }
  return ulps;
}

GPUEMU_AVX2_INLINE __m256i low_half_64(__m256i numbers) {
  return _mm256_cvtepi32_epi64(_mm256_castsi256_si128(numbers));
}
GPUEMU_AVX2_INLINE __m256i high_half_64(__m256i numbers) {
  return _mm256_cvtepi32_epi64(_mm256_extracti128_si256(numbers, 1));
}

/// Requires pairs of finite numbers; returns nothing if another value occurs.
GPUEMU_AVX2 std::optional<double> signed_ulps_float32(const float* output,
                                                      std::span<const double> references) {
  const __m256d infinity = _mm256_set1_pd(std::numeric_limits<double>::infinity());
  const __m256i exponent = _mm256_set1_epi32(0x7F800000);
  __m256i sums = _mm256_setzero_si256();
  for (size_t i = 0; i < references.size(); i += 8) {
    const __m256d low = _mm256_loadu_pd(references.data() + i);
    const __m256d high = _mm256_loadu_pd(references.data() + i + 4);
    const __m256i bits = load_bits(output + i);
    const __m256i other = _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent);
    const __m256d finite = _mm256_and_pd(_mm256_cmp_pd(magnitude(low), infinity, _CMP_LT_OQ),
                                         _mm256_cmp_pd(magnitude(high), infinity, _CMP_LT_OQ));
    if (_mm256_movemask_pd(finite) != 0xF || _mm256_testz_si256(other, other) == 0) {
      return std::nullopt;
    }
    const __m256i right = in_order_32(
        _mm256_castps_si256(_mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))));
    const __m256i left = in_order_32(bits);
    sums = _mm256_add_epi64(sums, _mm256_sub_epi64(low_half_64(left), low_half_64(right)));
    sums = _mm256_add_epi64(sums, _mm256_sub_epi64(high_half_64(left), high_half_64(right)));
  }
  double sum = 0;
  for (const uint64_t lane : numbers_of(sums)) {
    sum += static_cast<double>(static_cast<int64_t>(lane));
  }
  return sum;
}

}  // namespace

std::optional<double> signed_ulps_of(const TensorView& output, size_t first,
                                     std::span<const double> references) {
  if (output.dtype != DType::Float32 || references.size() % 8 != 0 || !has_vector_blocks()) {
    return std::nullopt;
  }
  const std::byte* data = output.data.data() + first * sizeof(float);
  return signed_ulps_float32(reinterpret_cast<const float*>(data), references);
}

Ulps ulps_of(const TensorView& output, const WideBlock& block) {
  const std::byte* data = output.data.data() + block.first * byte_size(output.dtype);
  switch (output.dtype) {
    case DType::Float32:
      return ulps_float32(reinterpret_cast<const float*>(data), block);
    case DType::Float64:
      return ulps_float64(block);
    default:
      return ulps_16(data, format_of(output.dtype), block);
  }
}

}  // namespace gpuemu

#else

namespace gpuemu {

std::optional<double> signed_ulps_of(const TensorView&, size_t, std::span<const double>) {
  return std::nullopt;
}

}  // namespace gpuemu

#endif
