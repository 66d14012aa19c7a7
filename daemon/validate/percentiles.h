// Exact order statistics of the absolute errors in one pass: a sample brackets each wanted element
// between two values, the pass counts below the bracket and keeps only what falls inside.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace gpuemu {

inline constexpr size_t kPercentileCount = 3;
inline constexpr std::array<double, kPercentileCount> kPercentiles{0.5, 0.9, 0.99};

/// Sorted position of percentile number `which` among `count` values. REQUIRES: count > 0.
uint64_t percentile_rank(size_t which, uint64_t count);

/// The value wanted lies very likely in [low, high]; both are exact float32 values, so that a
/// comparison after rounding to float32 decides like one before it.
struct Bracket {
  float low = 0, high = 0;
};
using Brackets = std::array<Bracket, kPercentileCount>;

/// From a sample of the values (any order).
Brackets bracket_percentiles(std::vector<double> sample, uint64_t count);

/// What one pass (or one thread's part of it) found.
struct BracketCounts {
  uint64_t below = 0;  ///< float(value) < low
  uint64_t to_low =
      0;  ///< float(value) <= low; many, where errors are whole units in the last place.
  uint64_t below_high = 0;   ///< float(value) < high
  uint64_t to_high = 0;      ///< float(value) <= high
  std::vector<double> kept;  ///< low < float(value) < high
};

/// Calls visit(value) for every value again; only when a bracket missed or ties hide inexact
/// values.
using Revisit = std::function<void(const std::function<void(double)>& visit)>;

/// `inexact`: some value was not a float32 value.
double percentile_value(size_t which, uint64_t count, const Bracket& bracket, BracketCounts counts,
                        bool inexact, const Revisit& revisit);

}  // namespace gpuemu
