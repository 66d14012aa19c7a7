#include "judge/bounds/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/numeric/infinity.h"
#include "judge/bounds/avx2.h"

namespace gpuemu {
namespace {

constexpr size_t kLanes = 4;
struct LaneSums {
  std::array<double, kLanes> sums{};
  std::array<uint64_t, kLanes> counts{};
};

#if defined(__x86_64__)

/// Lane i of both gets every fourth value from the i-th on. REQUIRES: has_vector_blocks().
GPUEMU_AVX2 LaneSums lane_sums(std::span<const double> values) {
  const __m256d infinity = _mm256_set1_pd(kInfinity);
  __m256d sums = _mm256_setzero_pd();
  __m256i counts = _mm256_setzero_si256();
  for (size_t i = 0; i < values.size(); i += kLanes) {
    const __m256d value = _mm256_loadu_pd(values.data() + i);
    const __m256d finite = _mm256_cmp_pd(magnitude(value), infinity, _CMP_LT_OQ);
    sums = _mm256_add_pd(sums, _mm256_and_pd(finite, value));
    counts = _mm256_sub_epi64(counts, _mm256_castpd_si256(finite));
  }
  LaneSums lanes;
  _mm256_storeu_pd(lanes.sums.data(), sums);
  lanes.counts = numbers_of(counts);
  return lanes;
}

#else

LaneSums lane_sums(std::span<const double>) { return {}; }

#endif

/// Magnitudes of floats are in the order of their bits. Inlined into a function for each set of
/// vectors.
[[gnu::always_inline]] inline double largest_float32(std::span<const std::byte> values) {
  constexpr int32_t kMagnitude = INT32_MAX, kInfinityBits = 0x7F800000;
  int32_t largest = 0;
  for (size_t at = 0; at + sizeof(float) <= values.size(); at += sizeof(float)) {
    int32_t bits = 0;
    std::memcpy(&bits, values.data() + at, sizeof bits);
    bits &= kMagnitude;
    largest = std::max(largest, bits < kInfinityBits ? bits : 0);
  }
  return static_cast<double>(std::bit_cast<float>(largest));
}

#if defined(__x86_64__)
GPUEMU_AVX2 double largest_float32_avx2(std::span<const std::byte> values) {
  return largest_float32(values);
}
#else
double largest_float32_avx2(std::span<const std::byte> values) { return largest_float32(values); }
#endif

}  // namespace

double largest_finite(std::span<const double> values) {
  const size_t groups = has_vector_blocks() ? values.size() / 4 * 4 : 0;
  double largest = groups > 0 ? largest_finite_by_four(values.first(groups)) : 0;
  for (const double value : values.subspan(groups)) {
    const double magnitude = std::fabs(value);
    if (magnitude < kInfinity) largest = std::max(largest, magnitude);
  }
  return largest;
}

FiniteSum sum_of_finite(std::span<const double> values) {
  // Each lane adds every fourth element: a single sum would serialise the additions.
  const size_t groups = has_vector_blocks() ? values.size() / kLanes * kLanes : 0;
  auto [sums, counts] = groups > 0 ? lane_sums(values.first(groups)) : LaneSums();
  for (size_t i = groups; i < values.size(); ++i) {
    const bool finite = std::fabs(values[i]) < kInfinity;
    sums[i % kLanes] += finite ? values[i] : 0;
    counts[i % kLanes] += finite ? 1 : 0;
  }
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]),
          (counts[0] + counts[1]) + (counts[2] + counts[3])};
}

double largest_finite_float32(std::span<const std::byte> values) {
  return has_vector_blocks() ? largest_float32_avx2(values) : largest_float32(values);
}

#if defined(__x86_64__)

bool has_vector_blocks() { return __builtin_cpu_supports("avx2") != 0; }

GPUEMU_AVX2 void automatic_bounds_by_four(const BoundTerms& terms, const double* references,
                                          const double* scales, std::span<double> bounds) {
  const __m256d exponent_bits = _mm256_castsi256_pd(_mm256_set1_epi64x(int64_t{0x7FF} << 52));
  const __m256d min_normal = _mm256_set1_pd(terms.format.min_normal);
  const __m256d ulp_of_one = _mm256_set1_pd(2 * terms.format.unit);
  const __m256d sum_factor = _mm256_set1_pd(terms.sum_factor);
  const __m256d value_factor = _mm256_set1_pd(terms.value_factor);
  const __m256d floor = _mm256_set1_pd(terms.floor), infinity = _mm256_set1_pd(kInfinity);
  for (size_t i = 0; i < bounds.size(); i += 4) {
    const __m256d reference = _mm256_loadu_pd(references + i);
    const __m256d scale = magnitude(_mm256_loadu_pd(scales + i));
    const __m256d power = _mm256_max_pd(_mm256_and_pd(reference, exponent_bits), min_normal);
    __m256d bound = _mm256_mul_pd(power, ulp_of_one);
    bound = _mm256_add_pd(bound, _mm256_mul_pd(sum_factor, scale));
    bound = _mm256_add_pd(bound, _mm256_mul_pd(value_factor, magnitude(reference)));
    bound = _mm256_add_pd(bound, floor);
    const __m256d finite = _mm256_cmp_pd(scale, infinity, _CMP_LT_OQ);
    _mm256_storeu_pd(bounds.data() + i, _mm256_blendv_pd(infinity, bound, finite));
  }
}

GPUEMU_AVX2 double largest_finite_by_four(std::span<const double> values) {
  const __m256d infinity = _mm256_set1_pd(kInfinity);
  __m256d largest = _mm256_setzero_pd();
  for (size_t i = 0; i < values.size(); i += 4) {
    const __m256d size = magnitude(_mm256_loadu_pd(values.data() + i));
    const __m256d finite = _mm256_cmp_pd(size, infinity, _CMP_LT_OQ);
    largest = _mm256_max_pd(largest, _mm256_and_pd(finite, size));
  }
  return max_of(largest);
}

#else

bool has_vector_blocks() { return false; }
double largest_finite_by_four(std::span<const double>) { return 0; }
void automatic_bounds_by_four(const BoundTerms&, const double*, const double*, std::span<double>) {}

#endif

}  // namespace gpuemu
