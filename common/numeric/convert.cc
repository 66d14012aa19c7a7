#include "common/numeric/convert.h"

#include <cstring>

#include "common/base/check.h"
#include "common/numeric/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gpuemu {
namespace {

double widen_one(DType dtype, const std::byte* from) {
  if (dtype == DType::Float32) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  uint16_t pattern = 0;
  std::memcpy(&pattern, from, sizeof pattern);
  return dtype == DType::Float16 ? double_from_float16(pattern) : double_from_bfloat16(pattern);
}

void narrow_one(DType dtype, double from, std::byte* to) {
  if (dtype == DType::Float32) {
    const auto value = static_cast<float>(from);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const uint16_t pattern =
      dtype == DType::Float16 ? float16_from_double(from) : bfloat16_from_double(from);
  std::memcpy(to, &pattern, sizeof pattern);
}

#if defined(__x86_64__)

#define GPUEMU_F16C __attribute__((target("avx2,f16c")))

bool has_vectors() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

GPUEMU_F16C inline __m256 eight_floats(DType dtype, const std::byte* from) {
  if (dtype == DType::Float32) return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  const __m128i patterns = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if (dtype == DType::Float16) return _mm256_cvtph_ps(patterns);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(patterns), 16));
}

GPUEMU_F16C size_t widen_groups(DType dtype, const std::byte* from, std::span<double> to) {
  const size_t count = to.size() / 8 * 8, size = byte_size(dtype);
  for (size_t i = 0; i < count; i += 8) {
    const __m256 values = eight_floats(dtype, from + i * size);
    _mm256_storeu_pd(to.data() + i, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
    _mm256_storeu_pd(to.data() + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
  }
  return count;
}

/// Converts a mask of four 64-bit lanes to one of four 32-bit lanes.
GPUEMU_F16C inline __m128i halved(__m256d mask) {
  const __m256i even_places = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  return _mm256_castsi256_si128(
      _mm256_permutevar8x32_epi32(_mm256_castpd_si256(mask), even_places));
}

/// Rounds to odd: a value between two neighbours becomes the one whose last bit is set. A second
/// rounding, to at most 22 bits, then gives the same as a single one.
GPUEMU_F16C inline __m128 to_odd(__m256d values) {
  const __m128 nearest = _mm256_cvtpd_ps(values);
  const __m256d back = _mm256_cvtps_pd(nearest), sign = _mm256_set1_pd(-0.0);
  const __m256d inexact = _mm256_cmp_pd(back, values, _CMP_NEQ_OQ);
  const __m256d above =
      _mm256_cmp_pd(_mm256_andnot_pd(sign, back), _mm256_andnot_pd(sign, values), _CMP_GT_OQ);
  const __m128i bits = _mm_castps_si128(nearest), one = _mm_set1_epi32(1);
  const __m128i even = _mm_cmpeq_epi32(_mm_and_si128(bits, one), _mm_setzero_si128());
  const __m128i moved = _mm_and_si128(even, halved(inexact));
  const __m128i step = _mm_or_si128(halved(above), one);  // -1 if the nearest is above, else 1.
  return _mm_castsi128_ps(_mm_add_epi32(bits, _mm_and_si128(moved, step)));
}

/// Returns eight bfloat16 patterns of values that were rounded to odd.
GPUEMU_F16C inline __m128i bfloat16_patterns(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7FFF)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  const __m256i patterns = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(patterns), _mm256_extracti128_si256(patterns, 1));
}

GPUEMU_F16C size_t narrow_groups(DType dtype, std::span<const double> from, std::byte* to) {
  const size_t count = from.size() / 8 * 8, size = byte_size(dtype);
  for (size_t i = 0; i < count; i += 8) {
    const __m256d low = _mm256_loadu_pd(from.data() + i),
                  high = _mm256_loadu_pd(from.data() + i + 4);
    if (dtype == DType::Float32) {
      const __m256 values = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
      _mm256_storeu_ps(reinterpret_cast<float*>(to + i * size), values);
      continue;
    }
    const __m256 odd = _mm256_set_m128(to_odd(high), to_odd(low));
    const __m128i patterns = dtype == DType::Float16
                                 ? _mm256_cvtps_ph(odd, _MM_FROUND_TO_NEAREST_INT)
                                 : bfloat16_patterns(odd);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * size), patterns);
  }
  return count;
}

#else

bool has_vectors() { return false; }
size_t widen_groups(DType, const std::byte*, std::span<double>) { return 0; }
size_t narrow_groups(DType, std::span<const double>, std::byte*) { return 0; }

#endif

}  // namespace

void widen_floats(DType dtype, std::span<const std::byte> from, std::span<double> to) {
  const size_t size = byte_size(dtype);
  GPUEMU_CHECK(is_float(dtype) && dtype != DType::Float64 && from.size() == to.size() * size);
  size_t i = has_vectors() ? widen_groups(dtype, from.data(), to) : 0;
  for (; i < to.size(); ++i) to[i] = widen_one(dtype, from.data() + i * size);
}

void narrow_floats(DType dtype, std::span<const double> from, std::span<std::byte> to) {
  const size_t size = byte_size(dtype);
  GPUEMU_CHECK(is_float(dtype) && dtype != DType::Float64 && to.size() == from.size() * size);
  size_t i = has_vectors() ? narrow_groups(dtype, from, to.data()) : 0;
  for (; i < from.size(); ++i) narrow_one(dtype, from[i], to.data() + i * size);
}

}  // namespace gpuemu
