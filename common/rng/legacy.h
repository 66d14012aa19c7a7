// The generator that existing clients and their stored seeds use, kept only for compatibility. Its
// step differs from the published xorshift128+ and must not be corrected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/numeric/dtype.h"

namespace gpuemu {

uint64_t legacy_sub_seed(uint64_t seed, std::string_view label);
/// Returns the seed of case number n of a run: label "iter_<n>".
uint64_t legacy_case_seed(uint64_t seed, uint64_t n);
/// Returns the seed under which minimization stores a trial.
uint64_t legacy_min_dim_seed(uint64_t case_seed, std::string_view dim, int64_t size);
uint64_t legacy_min_value_seed(uint64_t case_seed, double factor);

class LegacyRng {
 public:
  explicit LegacyRng(uint64_t seed);
  /// Derives from the seed, not from the current state.
  LegacyRng child(std::string_view label) const;

  uint64_t seed() const { return seed_; }
  std::pair<uint64_t, uint64_t> state() const { return {s0_, s1_}; }

  uint64_t u64() {
    uint64_t x = s0_;
    const uint64_t y = s1_;
    s0_ = y;
    x ^= x << 23;
    x ^= x >> 17;
    x ^= y ^ (y >> 26);
    s1_ = x ^ y;
    return x + y;
  }
  double f64() { return static_cast<double>(u64() >> 11) * 0x1p-53; }
  float f32() { return static_cast<float>(u64() >> 40) * 0x1p-24f; }
  /// Returns a number in [lo, hi). Requires lo < hi.
  int64_t integer(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(u64() % static_cast<uint64_t>(hi - lo));
  }
  /// Requires n >= 1.
  size_t index(size_t n) { return static_cast<size_t>(u64() % n); }
  bool boolean(double probability) { return f64() < probability; }
  std::vector<uint8_t> bytes(size_t n);
  std::vector<double> normals(size_t n);

  template <typename T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i-- > 1;) std::swap(items[i], items[index(i + 1)]);
  }

  /// Fills `to` with values of the dtype, in order. bfloat16 is the float32 value rounded to
  /// nearest even; float16 is truncated, as in existing daemons. Requires `to` to hold whole
  /// elements.
  void fill(DType dtype, std::span<std::byte> to);

 private:
  uint64_t seed_, s0_, s1_;
};

}  // namespace gpuemu
