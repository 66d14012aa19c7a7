#include "cli/report/html_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/chrono.h>

#include "cli/report/escape.h"

namespace gpuemu::cli {
namespace {

constexpr int kCell = 10;  ///< Side of a cell of the heat map, in pixels.
constexpr int kBar = 18, kLabel = 360, kWidth = 760;
constexpr size_t kBarsMax = 60;
constexpr double kDecadesShown = 6;

/// From white to dark red on a scale of decades below the largest.
std::string colour_of(double error, double largest) {
  if (!std::isfinite(error)) return "#000000";
  if (error <= 0 || largest <= 0) return "#ffffff";
  const double below = std::log10(largest) - std::log10(error);
  const double share = std::clamp(1 - below / kDecadesShown, 0.08, 1.0);
  const auto mix = [&](int from, int to) {
    return from + static_cast<int>(std::lround(share * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 150), mix(245, 10), mix(240, 20));
}

struct Bar {
  std::string label, value;
  double share = 0;  ///< Share of the full width.
  const char* colour = "#0969da";
};

std::string bars(const std::vector<Bar>& all) {
  const size_t height = all.size() * kBar + 8;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\">\n", kWidth,
                                height, kWidth);
  for (size_t i = 0; i < all.size(); ++i) {
    const Bar& bar = all[i];
    const size_t y = i * kBar + 4;
    const double width = std::clamp(bar.share, 0.0, 1.0) * (kWidth - kLabel - 110);
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{}\" y=\"{}\" "
        "width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
        kLabel - 8, y + 12, markup(clipped(bar.label, 60)), kLabel, y, std::max(width, 1.0),
        kBar - 4, bar.colour, kLabel + width + 6, y + 12, markup(bar.value));
  }
  return svg + "</svg>\n";
}

constexpr int kLineWidth = 240, kLineHeight = 30, kLineEdge = 4;
constexpr size_t kLinesMax = 60;

struct TrendMetric {
  const char* name;
  uint64_t TrendPoint::* value;
};
constexpr TrendMetric kTrendMetrics[] = {
    {"registers", &TrendPoint::registers},       {"spill bytes", &TrendPoint::spill_bytes},
    {"stack bytes", &TrendPoint::stack_bytes},   {"shared bytes", &TrendPoint::shared_bytes},
    {"instructions", &TrendPoint::instructions},
};

/// A file may hold any number; fmt knows the years that have four digits.
std::string utc_time(int64_t seconds) {
  constexpr int64_t kSecondsMax = 253'402'300'799;
  return fmt::format("{:%Y-%m-%d %H:%M}",
                     fmt::gmtime(std::time_t{std::clamp<int64_t>(seconds, 0, kSecondsMax)}));
}

std::string origin_of(const TrendPoint& point, bool is_last) {
  const std::string time = utc_time(point.timestamp);
  if (is_last) return time + " this run";
  return point.label.empty() ? time : time + " " + clipped(point.label, 60);
}

/// From the lowest value at the bottom to the highest at the top.
std::string trend_line(const std::vector<TrendPoint>& points, const TrendMetric& metric) {
  uint64_t least = UINT64_MAX, most = 0;
  for (const TrendPoint& point : points) {
    least = std::min(least, point.*metric.value);
    most = std::max(most, point.*metric.value);
  }
  const auto step = static_cast<double>(kLineWidth - 2 * kLineEdge) /
                    static_cast<double>(std::max<size_t>(1, points.size() - 1));
  const double scale =
      (kLineHeight - 2 * kLineEdge) / static_cast<double>(std::max<uint64_t>(1, most - least));
  std::string line, dots;
  for (size_t i = 0; i < points.size(); ++i) {
    const uint64_t value = points[i].*metric.value;
    const double x = kLineEdge + step * static_cast<double>(i);
    const double y = kLineHeight - kLineEdge - scale * static_cast<double>(value - least);
    line += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#0969da\"><title>{}: "
        "{}</title></circle>",
        x, y, markup(origin_of(points[i], i + 1 == points.size())), value);
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><polyline "
      "points=\"{2}\" fill=\"none\" stroke=\"#0969da\"/>{3}</svg>",
      kLineWidth, kLineHeight, line, dots);
}

bool changes(const std::vector<TrendPoint>& points, const TrendMetric& metric) {
  return std::ranges::any_of(points, [&](const TrendPoint& one) {
    return one.*metric.value != points.front().*metric.value;
  });
}

}  // namespace

std::string heat_map(const ErrorMap& map) {
  if (map.rows == 0 || map.columns == 0 || map.cells.size() != map.rows * map.columns) return "";
  double largest = 0;
  for (const double cell : map.cells) {
    if (std::isfinite(cell)) largest = std::max(largest, cell);
  }
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" "
      "shape-rendering=\"crispEdges\"><rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\" "
      "stroke=\"#d8dee4\"/>\n",
      map.columns * kCell, map.rows * kCell);
  for (size_t i = 0; i < map.cells.size(); ++i) {
    if (map.cells[i] == 0) continue;
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>row part {}, column "
        "part {}: {:.3g}</title></rect>\n",
        i % map.columns * kCell, i / map.columns * kCell, kCell, kCell,
        colour_of(map.cells[i], largest), i / map.columns, i % map.columns, map.cells[i]);
  }
  return svg + "</svg>\n" +
         fmt::format("<p class=\"mute\">{} x {} parts, largest {:.3g}; black: not finite.</p>\n",
                     map.rows, map.columns, largest);
}

std::string error_histogram(const ErrorMap& map) {
  uint64_t most = 1;
  for (const auto& [decade, count] : map.distribution) most = std::max(most, count);
  const auto order = [](const std::string& decade) {
    if (decade == "0") return -1000.0;
    return decade.starts_with("1e") ? std::strtod(decade.c_str() + 2, nullptr) : 1000.0;
  };
  std::vector<std::pair<std::string, uint64_t>> rows(map.distribution.begin(),
                                                     map.distribution.end());
  std::ranges::sort(rows, {}, [&](const auto& row) { return order(row.first); });
  std::vector<Bar> all;
  for (const auto& [decade, count] : rows) {
    all.push_back({decade.starts_with("1e") ? decade + " and up" : decade, std::to_string(count),
                   static_cast<double>(count) / static_cast<double>(most)});
  }
  return bars(all);
}

std::string trend_chart(const ArtifactDiffSummary& summary) {
  std::vector<Bar> all;
  double most = 1;
  for (const ArtifactDiff& diff : summary.diffs) {
    for (const MetricChange& change : diff.changes) {
      if (all.size() >= kBarsMax) break;
      const double percent = change.percent.value_or(100);
      most = std::max(most, std::abs(percent));
      all.push_back({fmt::format("{}: {}{}", diff.kernel_name, change.metric,
                                 change.arch.empty() ? "" : " " + change.arch),
                     fmt::format("{:g} to {:g}", change.before, change.after), std::abs(percent),
                     change.verdict == MetricVerdict::Regression    ? "#cf222e"
                     : change.verdict == MetricVerdict::Improvement ? "#1a7f37"
                                                                    : "#9a6700"});
    }
  }
  for (Bar& bar : all) bar.share /= most;
  return all.empty() ? "" : bars(all);
}

std::string trend_lines(const std::vector<KernelTrend>& trends) {
  std::string html;
  size_t rows = 0;
  for (const KernelTrend& trend : trends) {
    for (const TrendMetric& metric : kTrendMetrics) {
      if (!changes(trend.points, metric) || ++rows > kLinesMax) continue;
      html += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          markup(clipped(trend.kernel_name, 120)), markup(clipped(trend.arch, 60)), metric.name,
          trend.points.front().*metric.value, trend_line(trend.points, metric),
          trend.points.back().*metric.value);
    }
  }
  if (rows > kLinesMax) html += fmt::format("<tr><td>and {} more</td></tr>\n", rows - kLinesMax);
  return html;
}

std::string share_bar(size_t part, size_t all) {
  const double share = all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  return fmt::format(
      "<svg width=\"120\" height=\"10\" role=\"img\"><rect width=\"120\" height=\"10\" "
      "fill=\"#ffd8d3\"/><rect width=\"{:.1f}\" height=\"10\" fill=\"#2da44e\"/></svg>",
      share * 120);
}

}  // namespace gpuemu::cli
