#include "cli/report/html_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/chrono.h>

#include "cli/report/escape.h"

namespace gpuemu::cli {
namespace {

constexpr int kBar = 18, kLabel = 360, kWidth = 760;
constexpr size_t kBarsMax = 60;

struct Bar {
  std::string label, value;
  double share = 0;            ///< Share of the full width.
  const char* name = "other";  ///< A class of the page's style.
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
        "width=\"{:.1f}\" height=\"{}\" class=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
        kLabel - 8, y + 12, markup(clipped(bar.label, 60)), kLabel, y, std::max(width, 1.0),
        kBar - 4, bar.name, kLabel + width + 6, y + 12, markup(bar.value));
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

/// Formats a time. The file may contain any number, but fmt supports only years of four digits.
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

/// Draws the values from the lowest at the bottom to the highest at the top.
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
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"trend\"><title>{}: "
        "{}</title></circle>",
        x, y, markup(origin_of(points[i], i + 1 == points.size())), value);
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><polyline "
      "points=\"{2}\" class=\"trend\"/>{3}</svg>",
      kLineWidth, kLineHeight, line, dots);
}

bool changes(const std::vector<TrendPoint>& points, const TrendMetric& metric) {
  return std::ranges::any_of(points, [&](const TrendPoint& one) {
    return one.*metric.value != points.front().*metric.value;
  });
}

}  // namespace

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
                     change.verdict == MetricVerdict::Regression    ? "worse"
                     : change.verdict == MetricVerdict::Improvement ? "better"
                                                                    : "other"});
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

std::string share_bar(size_t part, size_t all, const char* name) {
  const double share = all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  return fmt::format("<span class=\"share {}\"><i style=\"width:{:.1f}%\"></i></span>", name,
                     std::clamp(share, 0.0, 1.0) * 100);
}

}  // namespace gpuemu::cli
