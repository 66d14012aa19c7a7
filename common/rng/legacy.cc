// The generator of existing clients: seeds, draws, element values.
#include "common/rng/legacy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include <fmt/core.h>

#include "common/base/blake2.h"
#include "common/base/check.h"
#include "common/numeric/element.h"
#include "common/numeric/half.h"

namespace gpuemu {
namespace {

/// The finaliser of SplitMix64.
uint64_t mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint16_t truncated_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  constexpr uint32_t kRebias = uint32_t{127 - 15} << 23;
  if (magnitude < kRebias + (1u << 23)) return sign;  // Below the smallest normal.
  return static_cast<uint16_t>(sign | ((magnitude - kRebias) >> 13));
}

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void put_element(LegacyRng& rng, DType dtype, std::byte* to) {
  const auto real = [&] { return (2.0 * rng.f64() - 1.0) * 10.0; };
  switch (dtype) {
    case DType::Float16:
      return put(to, truncated_float16(static_cast<float>(real())));
    case DType::BFloat16:
      return put(to, bfloat16_from_float(static_cast<float>(real())));
    case DType::Float32:
      return put(to, static_cast<float>(real()));
    case DType::Float64:
      return put(to, real());
    case DType::Bool:
      return put(to, static_cast<uint8_t>(rng.boolean(0.5) ? 1 : 0));
    case DType::UInt8:
      return put(to, static_cast<uint8_t>(rng.u64()));
    case DType::UInt16:
      return put(to, static_cast<uint16_t>(rng.u64()));
    case DType::UInt32:
      return put(to, static_cast<uint32_t>(rng.u64()));
    case DType::UInt64:
      return put(to, rng.u64());
    default:
      return write_from_int64(dtype, rng.integer(-100, 100), to);
  }
}

}  // namespace

uint64_t legacy_sub_seed(uint64_t seed, std::string_view label) {
  const auto digest =
      blake2b_8({std::string_view(reinterpret_cast<const char*>(&seed), sizeof seed), label});
  return std::bit_cast<uint64_t>(digest);
}

uint64_t legacy_case_seed(uint64_t seed, uint64_t n) {
  return legacy_sub_seed(seed, fmt::format("iter_{}", n));
}

uint64_t legacy_min_dim_seed(uint64_t case_seed, std::string_view dim, int64_t size) {
  return legacy_sub_seed(case_seed, fmt::format("min_dim_{}_{}", dim, size));
}

uint64_t legacy_min_value_seed(uint64_t case_seed, double factor) {
  return legacy_sub_seed(case_seed, fmt::format("minval_{}", std::bit_cast<uint64_t>(factor)));
}

LegacyRng::LegacyRng(uint64_t seed) : seed_(seed), s0_(mix(seed)), s1_(mix(seed + 1)) {
  if (s0_ == 0 && s1_ == 0) s0_ = 1;
}

LegacyRng LegacyRng::child(std::string_view label) const {
  return LegacyRng(legacy_sub_seed(seed_, label));
}

std::vector<uint8_t> LegacyRng::bytes(size_t n) {
  std::vector<uint8_t> result(n);
  for (size_t at = 0; at < n; at += 8) {
    const uint64_t output = u64();
    std::memcpy(result.data() + at, &output, std::min<size_t>(8, n - at));
  }
  return result;
}

std::vector<double> LegacyRng::normals(size_t n) {
  std::vector<double> result;
  while (result.size() < n) {
    const double u1 = std::max(f64(), 1e-300);
    const double u2 = f64();
    const double radius = std::sqrt(-2.0 * std::log(u1));
    const double angle = 2.0 * std::numbers::pi * u2;
    result.push_back(radius * std::cos(angle));
    if (result.size() < n) result.push_back(radius * std::sin(angle));
  }
  return result;
}

void LegacyRng::fill(DType dtype, std::span<std::byte> to) {
  const size_t size = byte_size(dtype);
  GPUEMU_CHECK(to.size() % size == 0);
  for (size_t at = 0; at < to.size(); at += size) put_element(*this, dtype, to.data() + at);
}

}  // namespace gpuemu
