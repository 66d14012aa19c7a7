#include "daemon/validate/percentiles.h"

#include <algorithm>
#include <cmath>

namespace gpuemu {
namespace {

double nth(std::vector<double>& values, uint64_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

uint64_t percentile_rank(size_t which, uint64_t count) {
  return static_cast<uint64_t>(std::llround(kPercentiles[which] * static_cast<double>(count - 1)));
}

Brackets bracket_percentiles(std::vector<double> sample, uint64_t count) {
  Brackets brackets;
  if (sample.empty()) return brackets;
  std::sort(sample.begin(), sample.end());
  const auto size = static_cast<double>(sample.size());
  for (size_t which = 0; which < kPercentileCount; ++which) {
    const double p = static_cast<double>(percentile_rank(which, count)) /
                     std::max(1.0, static_cast<double>(count - 1));
    const double spread = 5 * std::sqrt(size * p * (1 - p)) + 3;
    const auto at = [&](double position) {
      return static_cast<float>(sample[static_cast<size_t>(std::clamp(position, 0.0, size - 1))]);
    };
    brackets[which].low = at(p * size - spread);
    brackets[which].high = at(p * size + spread);
  }
  return brackets;
}

double percentile_value(size_t which, uint64_t count, const Bracket& bracket, BracketCounts counts,
                        bool inexact, const Revisit& revisit) {
  const uint64_t rank = percentile_rank(which, count);
  if (rank >= counts.to_low && rank < counts.below_high)
    return nth(counts.kept, rank - counts.to_low);
  if (!inexact && rank >= counts.below && rank < counts.to_low)
    return static_cast<double>(bracket.low);
  if (!inexact && rank >= counts.below_high && rank < counts.to_high) {
    return static_cast<double>(bracket.high);
  }
  std::vector<double> all;
  all.reserve(count);
  revisit([&](double value) { all.push_back(value); });
  return nth(all, rank);
}

}  // namespace gpuemu
