// Puts values into bins by their first digits, and orders only those in the bins of the ranks.
#include "judge/scan/select_ranks.h"

#include <algorithm>
#include <bit>
#include <memory>

namespace gpuemu {
namespace {

/// Bins for finite values from 0 to `largest`, by exponent and the first digits; the lowest holds
/// all that are 2^32 times smaller. The bits of such values are in their order.
class DigitBins {
 public:
  static constexpr size_t kCount = 1024;
  using Bin = uint16_t;

  explicit DigitBins(double largest)
      : lowest_(digits(largest) - static_cast<int32_t>(kCount - 1)) {}
  Bin of(double value) const {
    return static_cast<Bin>(std::max<int32_t>(digits(value) - lowest_, 0));
  }

 private:
  static int32_t digits(double value) {
    return static_cast<int32_t>(std::bit_cast<uint64_t>(value) >> kShift);
  }
  static constexpr int kShift = 47;  // Leaves 11 bits of exponent and 5 digits.
  int32_t lowest_;
};

/// Inlined into a function for each set of vectors.
[[gnu::always_inline]] inline void find_bins_any(const DigitBins& bins,
                                                 std::span<const double> values,
                                                 DigitBins::Bin* found) {
  const DigitBins copy = bins;  // What the loop writes could be in it.
  for (size_t i = 0; i < values.size(); ++i) found[i] = copy.of(values[i]);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void find_bins_avx2(const DigitBins& bins, std::span<const double> values,
                                            DigitBins::Bin* found) {
  find_bins_any(bins, values, found);
}
#endif

void find_bins(const DigitBins& bins, std::span<const double> values, DigitBins::Bin* found) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return find_bins_avx2(bins, values, found);
#endif
  find_bins_any(bins, values, found);
}

double largest_of(std::span<const double> values) {
  // Several at a time, because each maximum waits for the one before.
  std::array<double, 8> lanes{};
  const size_t whole = values.size() / lanes.size() * lanes.size();
  for (size_t i = 0; i < whole; i += lanes.size()) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
  }
  for (const double value : values.subspan(whole)) lanes[0] = std::max(lanes[0], value);
  return *std::ranges::max_element(lanes);
}

using Sizes = std::array<uint32_t, DigitBins::kCount>;

/// Returns how many values each bin has. Neighbours are counted apart: they are often in one bin,
/// whose next count waits for the one before.
Sizes sizes_of(std::span<const DigitBins::Bin> bins) {
  Sizes even{}, odd{};
  size_t i = 0;
  for (; i + 1 < bins.size(); i += 2) {
    ++even[bins[i]];
    ++odd[bins[i + 1]];
  }
  if (i < bins.size()) ++even[bins[i]];
  for (size_t bin = 0; bin < even.size(); ++bin) even[bin] += odd[bin];
  return even;
}

/// A bin that holds a rank.
struct WantedBin {
  uint64_t before = 0;  ///< Number of values in lower bins.
  std::vector<double> inside;
};

/// The bins of all ranks.
struct WantedBins {
  std::array<WantedBin, kPercentileCount> bins;
  std::array<size_t, kPercentileCount> of_rank{};     ///< Place in `bins`.
  std::array<uint8_t, DigitBins::kCount> place_of{};  ///< Place in `bins` plus one; 0 for others.
};

void choose_bins(const Sizes& sizes, const Ranks& ranks, WantedBins& wanted) {
  size_t found = 0, bin = 0;
  uint64_t before = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    while (before + sizes[bin] <= ranks[i]) before += sizes[bin++];
    if (wanted.place_of[bin] == 0) {
      wanted.bins[found].before = before;
      wanted.bins[found].inside.reserve(sizes[bin]);
      wanted.place_of[bin] = static_cast<uint8_t>(++found);
    }
    wanted.of_rank[i] = wanted.place_of[bin] - size_t{1};
  }
}

/// Adds the values to the wanted bins. `indices` has room for an index of each.
void collect(std::span<const double> values, const DigitBins::Bin* bins, uint32_t* indices,
             WantedBins& wanted) {
  // Without a branch, which a processor could not predict.
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    indices[count] = static_cast<uint32_t>(i);
    count += wanted.place_of[bins[i]] != 0 ? 1 : 0;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = indices[i];
    wanted.bins[wanted.place_of[bins[index]] - size_t{1}].inside.push_back(values[index]);
  }
}

/// Returns the value that is at this place once the bin is in order.
double value_at(std::vector<double>& inside, uint64_t place) {
  const double first = inside.front();
  if (std::ranges::all_of(inside, [first](double value) { return value == first; })) return first;
  const auto at = inside.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(inside.begin(), at, inside.end());
  return *at;
}

}  // namespace

std::array<double, kPercentileCount> select_ranks(const Parts& parts, const Ranks& ranks) {
  double largest = 0;
  size_t total = 0;
  for (const auto values : parts) {
    largest = std::max(largest, largest_of(values));
    total += values.size();
  }
  if (largest == 0) return {};  // Most results of simple ops are exact.
  const DigitBins digits(largest);
  const auto bins = std::make_unique_for_overwrite<DigitBins::Bin[]>(total);
  size_t begin = 0;
  for (const auto values : parts) {
    find_bins(digits, values, bins.get() + begin);
    begin += values.size();
  }
  WantedBins wanted;
  choose_bins(sizes_of({bins.get(), total}), ranks, wanted);
  const auto indices = std::make_unique_for_overwrite<uint32_t[]>(total);
  begin = 0;
  for (const auto values : parts) {
    collect(values, bins.get() + begin, indices.get(), wanted);
    begin += values.size();
  }
  std::array<double, kPercentileCount> all{};
  for (size_t i = 0; i < ranks.size(); ++i) {
    WantedBin& bin = wanted.bins[wanted.of_rank[i]];
    all[i] = value_at(bin.inside, ranks[i] - bin.before);
  }
  return all;
}

}  // namespace gpuemu
