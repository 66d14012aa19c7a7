#include "judge/scan/percentiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>

#include "common/numeric/infinity.h"
#include "judge/scan/select_ranks.h"

namespace gpuemu {
namespace {

// Sigmas between a sample's percentile and the true one. If it is farther away (one in 16,000), the
// pass is repeated.
constexpr double kSpread = 4;
// A value that fills this part of the window around a percentile gets a cell of its own.
constexpr size_t kHeavyPart = 8;
constexpr size_t kHeavyMin = 4;

double next(double value) { return std::nextafter(value, kInfinity); }

/// Returns the positions in the sample between which the percentile is very likely.
std::pair<size_t, size_t> window_of(size_t which, size_t sample_size, uint64_t count) {
  const auto size = static_cast<double>(sample_size);
  const double p = static_cast<double>(percentile_rank(which, count)) /
                   std::max(1.0, static_cast<double>(count - 1));
  const double spread = kSpread * std::sqrt(size * p * (1 - p)) + 3;
  const auto place = [&](double at) { return static_cast<size_t>(std::clamp(at, 0.0, size - 1)); };
  return {place(p * size - spread), place(p * size + spread)};
}

/// Adds the edges for one sorted window.
void add_edges(std::span<const double> window, std::vector<double>& edges) {
  edges.push_back(window.front());
  edges.push_back(window.back());
  const size_t heavy = std::max(kHeavyMin, window.size() / kHeavyPart);
  for (size_t first = 0; first < window.size();) {
    size_t last = first;
    while (last < window.size() && window[last] == window[first]) ++last;
    if (last - first >= heavy) {
      edges.push_back(window[first]);
      edges.push_back(next(window[first]));
    }
    first = last;
  }
}

/// Returns element `rank` of the values in the cell. Sorts into bins first, because nth_element
/// alone takes three times as long.
double select(const Parts& parts, const ValueRange& cell, uint64_t rank) {
  constexpr size_t kBins = 2048;
  const double width = cell.to - cell.from;
  const double per_bin = std::isfinite(width) ? kBins / width : 0;
  const bool binned = per_bin > 0 && std::isfinite(per_bin);
  const auto bin_of = [&](double value) {
    if (!binned) return size_t{0};
    return std::min(static_cast<size_t>((value - cell.from) * per_bin), kBins - 1);
  };
  std::array<uint64_t, kBins> sizes{};
  for (const auto values : parts) {
    for (const double value : values) {
      if (cell.holds(value)) ++sizes[bin_of(value)];
    }
  }
  size_t bin = 0;
  uint64_t before = 0;
  while (before + sizes[bin] <= rank) before += sizes[bin++];
  std::vector<double> inside;
  inside.reserve(sizes[bin]);
  for (const auto values : parts) {
    for (const double value : values) {
      if (cell.holds(value) && bin_of(value) == bin) inside.push_back(value);
    }
  }
  const auto place = inside.begin() + static_cast<std::ptrdiff_t>(rank - before);
  std::nth_element(inside.begin(), place, inside.end());
  return *place;
}

bool single(double from, double to) { return next(from) == to; }

/// Returns element `rank` of the sorted values.
double value_at_rank(uint64_t rank, const HistogramCells& cells, const CellCounts& counts,
                     const Revisit& revisit) {
  if (rank >= counts.finite) return kInfinity;
  size_t edge = 0;
  while (edge < cells.edges.size() && counts.below[edge] <= rank) ++edge;
  ValueRange cell{0, kInfinity};
  uint64_t before = 0;
  if (edge > 0) {
    cell.from = cells.edges[edge - 1];
    before = counts.below[edge - 1];
  }
  if (edge < cells.edges.size()) cell.to = cells.edges[edge];
  if (single(cell.from, cell.to)) return cell.from;
  Parts parts;
  for (size_t i = 0; i < cells.kept.size(); ++i) {
    const bool inside = cells.kept[i].from <= cell.from && cell.to <= cells.kept[i].to;
    for (size_t part = i; inside && part < counts.kept.size(); part += cells.kept.size()) {
      parts.emplace_back(counts.kept[part]);
    }
  }
  std::vector<double> again;
  if (parts.empty()) {
    revisit([&](double value) {
      if (cell.holds(value)) again.push_back(value);
    });
    parts.emplace_back(again);
  }
  return select(parts, cell, rank - before);
}

}  // namespace

uint64_t percentile_rank(size_t which, uint64_t count) {
  return static_cast<uint64_t>(std::llround(kPercentiles[which] * static_cast<double>(count - 1)));
}

HistogramCells keep_all() { return {{}, {{0.0, kInfinity}}, {1.0}, {}, true}; }

HistogramCells cells_around_percentiles(std::vector<double> sample, uint64_t count) {
  HistogramCells cells;
  if (sample.empty()) return cells;
  std::vector<ValueRange> windows;
  size_t settled = 0;  // What lies before this place is not larger than what lies from it on.
  for (size_t which = 0; which < kPercentileCount; ++which) {
    const auto [first, last] = window_of(which, sample.size(), count);
    const auto at = [&](size_t place) {
      return sample.begin() + static_cast<std::ptrdiff_t>(place);
    };
    if (first > settled) std::nth_element(at(settled), at(first), sample.end());
    const size_t from = std::max(first, settled);  // Windows of a small sample meet.
    if (from <= last) {
      std::nth_element(at(from), at(last), sample.end());
      std::sort(at(from), at(last + 1));
      settled = last + 1;
    }
    add_edges({at(first), at(last + 1)}, cells.edges);
    windows.push_back(
        {first == 0 ? 0.0 : *at(first), last + 1 == sample.size() ? kInfinity : *at(last)});
    cells.edges.push_back(windows.back().from);
  }
  std::erase_if(cells.edges, [](double edge) { return !std::isfinite(edge); });
  std::sort(cells.edges.begin(), cells.edges.end());
  cells.edges.erase(std::unique(cells.edges.begin(), cells.edges.end()), cells.edges.end());
  for (size_t i = 0; i < cells.edges.size(); ++i) {
    const double from = cells.edges[i];
    const double to = i + 1 < cells.edges.size() ? cells.edges[i + 1] : kInfinity;
    const bool wanted = std::any_of(windows.begin(), windows.end(), [&](const ValueRange& window) {
      return window.from <= from && to <= window.to;
    });
    if (!wanted || single(from, to)) continue;
    if (!cells.kept.empty() && cells.kept.back().to == from) {
      cells.kept.back().to = to;
    } else {
      cells.kept.push_back({from, to});
    }
  }
  for (const ValueRange& range : cells.kept) {
    const auto held = std::count_if(sample.begin(), sample.end(),
                                    [&](double value) { return range.holds(value); });
    cells.shares.push_back(static_cast<double>(held) / static_cast<double>(sample.size()));
  }
  for (const double edge : cells.edges) {
    cells.ends.push_back(std::any_of(
        cells.kept.begin(), cells.kept.end(),
        [&](const ValueRange& range) { return range.from == edge || range.to == edge; }));
  }
  return cells;
}

CellCounts::CellCounts(const HistogramCells& cells, uint64_t count)
    : below(cells.edges.size()), kept(cells.kept.size()) {
  constexpr double kMargin = 1.1;
  for (size_t i = 0; i < kept.size(); ++i) {
    const double expected = static_cast<double>(count) * cells.shares[i] * kMargin;
    kept[i].reserve(static_cast<size_t>(expected) + 1);
  }
}

void CellCounts::add(const HistogramCells& cells, double value, uint64_t times) {
  finite += value < kInfinity ? times : 0;
  for (size_t i = 0; i < below.size(); ++i) below[i] += value < cells.edges[i] ? times : 0;
  for (size_t i = 0; i < cells.kept.size(); ++i) {
    if (cells.kept[i].holds(value)) kept[i].insert(kept[i].end(), times, value);
  }
}

void CellCounts::add_all(const HistogramCells& cells, std::span<const double> values) {
  const auto count_below = [&](double edge) {
    uint64_t all = 0;
    for (const double value : values) all += value < edge ? 1 : 0;
    return all;
  };
  finite += count_below(kInfinity);
  for (size_t i = 0; i < below.size(); ++i) below[i] += count_below(cells.edges[i]);
  for (size_t i = 0; i < cells.kept.size(); ++i) {
    const ValueRange range = cells.kept[i];
    std::ranges::copy_if(values, std::back_inserter(kept[i]),
                         [&](double value) { return range.holds(value); });
  }
}

void CellCounts::merge(CellCounts&& other) {
  finite += other.finite;
  for (size_t i = 0; i < below.size(); ++i) below[i] += other.below[i];
  for (std::vector<double>& values : other.kept) kept.push_back(std::move(values));
}

std::array<double, kPercentileCount> percentiles_of(uint64_t count, const HistogramCells& cells,
                                                    const CellCounts& counts,
                                                    const Revisit& revisit) {
  Ranks ranks{};
  for (size_t which = 0; which < ranks.size(); ++which) {
    ranks[which] = percentile_rank(which, count);
  }
  std::array<double, kPercentileCount> all{};
  if (cells.all && ranks.back() < counts.finite) {
    return select_ranks({counts.kept.begin(), counts.kept.end()}, ranks);
  }
  for (size_t which = 0; which < ranks.size(); ++which) {
    all[which] = value_at_rank(ranks[which], cells, counts, revisit);
  }
  return all;
}

}  // namespace gpuemu
