// Conversions from lanes of AVX2 registers to scalars. Intrinsics are used only here and in
// *_avx2.cc. Every function that uses them declares the instruction set itself, so the rest of the
// code runs on any processor.
#pragma once

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <cstdint>

#include <immintrin.h>

#define GPUEMU_AVX2 __attribute__((target("avx2")))
#define GPUEMU_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace gpuemu {

GPUEMU_AVX2_INLINE double sum_of(__m256d lanes) {
  alignas(32) std::array<double, 4> values;
  _mm256_store_pd(values.data(), lanes);
  return (values[0] + values[1]) + (values[2] + values[3]);
}
GPUEMU_AVX2_INLINE double max_of(__m256d lanes) {
  alignas(32) std::array<double, 4> values;
  _mm256_store_pd(values.data(), lanes);
  return std::max(std::max(values[0], values[1]), std::max(values[2], values[3]));
}
GPUEMU_AVX2_INLINE std::array<uint64_t, 4> numbers_of(__m256i lanes) {
  alignas(32) std::array<uint64_t, 4> values;
  _mm256_store_si256(reinterpret_cast<__m256i*>(values.data()), lanes);
  return values;
}
GPUEMU_AVX2_INLINE uint64_t sum_of_32(__m256i lanes) {
  uint64_t sum = 0;
  for (const uint64_t pair : numbers_of(lanes)) sum += (pair & 0xFFFFFFFFu) + (pair >> 32);
  return sum;
}
GPUEMU_AVX2_INLINE uint64_t max_of_32(__m256i lanes) {
  uint64_t largest = 0;
  for (const uint64_t pair : numbers_of(lanes)) {
    largest = std::max(largest, std::max(pair & 0xFFFFFFFFu, pair >> 32));
  }
  return largest;
}

GPUEMU_AVX2_INLINE __m256d magnitude(__m256d value) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
}
GPUEMU_AVX2_INLINE __m256 magnitude(__m256 value) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value);
}
GPUEMU_AVX2_INLINE __m256i load_bits(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

}  // namespace gpuemu

#endif
