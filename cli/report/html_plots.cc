#include "cli/report/html_plots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/report/escape.h"
#include "cli/report/svg.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

constexpr double kAbove = 16, kRight = 332;
constexpr double kMostShare = 1e300;

/// The bars of a histogram, from the left: no error, decades without gaps, not finite.
struct Bars {
  uint64_t zero = 0, not_finite = 0;
  int first = 0;                  ///< Exponent of the first decade.
  std::vector<uint64_t> decades;  ///< Empty if every error is 0 or not finite.

  size_t size() const { return decades.size() + (zero > 0 ? 1 : 0) + (not_finite > 0 ? 1 : 0); }
};

constexpr int kDecadesMin = -320, kDecadesMax = 320;

Bars bars_of(const ErrorMap& map) {
  Bars bars;
  std::map<int, uint64_t> decades;
  for (const auto& [name, count] : map.distribution) {
    if (name == "0") {
      bars.zero = count;
    } else if (name.starts_with("1e")) {
      const long exponent = std::strtol(name.c_str() + 2, nullptr, 10);
      decades[static_cast<int>(std::clamp<long>(exponent, kDecadesMin, kDecadesMax))] += count;
    } else {
      bars.not_finite += count;
    }
  }
  if (decades.empty()) return bars;
  int first = decades.begin()->first, last = decades.rbegin()->first;
  if (map.bound && *map.bound > 0 && std::isfinite(*map.bound)) {
    const int decade = static_cast<int>(std::floor(std::log10(*map.bound)));
    first = std::min(first, decade);
    last = std::max(last, decade);
  }
  bars.first = first;
  bars.decades.resize(static_cast<size_t>(last - first + 1));
  for (const auto& [exponent, count] : decades) {
    bars.decades[static_cast<size_t>(exponent - first)] = count;
  }
  return bars;
}

constexpr double kBarsLeft = 12, kBarsHeight = 110;

struct BarRow {
  double step = 0;
  uint64_t most = 1;
  bool counts = true;  ///< Whether the bars are wide enough for a number above each.
};

std::string bar_svg(const BarRow& row, size_t at, uint64_t count, const char* name,
                    const std::string& label) {
  const double x = kBarsLeft + row.step * static_cast<double>(at);
  const double middle = x + row.step / 2;
  // A few elements stay visible beside many.
  const double tall =
      count == 0
          ? 0
          : std::max(1.5, kBarsHeight * static_cast<double>(count) / static_cast<double>(row.most));
  const double gap = row.step > 8 ? 2 : 0.5;
  std::string svg = fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", name,
      x + gap, kAbove + kBarsHeight - tall, row.step - 2 * gap, tall);
  if (count > 0 && row.counts) {
    svg += svg_text(middle, kAbove + kBarsHeight - tall - 3, "middle", std::to_string(count));
  }
  if (!label.empty()) svg += svg_text(middle, kAbove + kBarsHeight + 13, "middle", label);
  return svg + "\n";
}

/// The axis for shares of the permitted error: decades that include 1; values of 0 or beyond the
/// ends are drawn at the ends.
struct ShareAxis {
  int first = -3, last = 1;
  double from = 0, to = 0;  ///< Pixels.

  ShareAxis(const std::vector<CaseSample>& samples, double begin, double end)
      : from(begin), to(end) {
    constexpr int kLeast = -6, kMost = 12;
    double least = 1e-2, most = 10;
    for (const CaseSample& one : samples) {
      if (!(one.bound_ratio > 0) || one.bound_ratio > kMostShare) continue;
      least = std::min(least, one.bound_ratio);
      most = std::max(most, one.bound_ratio);
    }
    first = std::max(kLeast, static_cast<int>(std::floor(std::log10(least))));
    last = std::min(kMost, static_cast<int>(std::ceil(std::log10(most))));
  }

  double at(double share) const {
    const double decade = share > 0 ? std::log10(share) : first;
    const double part = (std::clamp<double>(decade, first, last) - first) / (last - first);
    return from + part * (to - from);
  }
  /// Returns "0.1x"; values below the lowest decade share its label.
  std::string text(int decade) const {
    const std::string bare = decade >= -2 && decade <= 2
                                 ? fmt::format("{:g}x", std::pow(10, decade))
                                 : fmt::format("1e{}x", decade);
    return decade == first ? "\u2264 " + bare : bare;
  }
  /// Returns the number of decades between labels.
  int stride() const { return std::max(1, (last - first + 3) / 4); }
};

/// Draws coinciding dots once, with failing ones on top.
class Dots {
 public:
  void add(double x, double y, bool passed) {
    (passed ? passing_ : failing_).insert(fmt::format("cx=\"{:.0f}\" cy=\"{:.0f}\"", x, y));
  }
  std::string svg() const {
    std::string all;
    for (const std::string& one : passing_) {
      all += fmt::format("<circle class=\"ok\" {} r=\"3\"/>\n", one);
    }
    for (const std::string& one : failing_) {
      all += fmt::format("<circle class=\"no\" {} r=\"3\"/>\n", one);
    }
    return all;
  }

 private:
  std::set<std::string> passing_, failing_;
};

constexpr const char* kLegend =
    "<span class=\"no-text\">&#9679; failing</span> <span class=\"ok-text\">&#9675; passing</span>";

std::string failing_text(const std::vector<CaseSample>& samples) {
  const auto failing =
      std::ranges::count_if(samples, [](const CaseSample& one) { return !one.passed; });
  return fmt::format("{} of {} {}", failing, counted(samples.size(), "case"),
                     failing == 1 ? "fails" : "fail");
}

}  // namespace

std::string error_histogram(const ErrorMap& map) {
  const Bars bars = bars_of(map);
  if (bars.size() == 0) return "";
  BarRow row;
  row.step = std::min(48.0, (kRight - kBarsLeft) / static_cast<double>(bars.size()));
  row.most = std::max<uint64_t>({1, bars.zero, bars.not_finite});
  for (const uint64_t count : bars.decades) row.most = std::max(row.most, count);
  row.counts = row.step >= 22;
  const size_t stride = static_cast<size_t>(std::ceil(40 / row.step));
  const double bound =
      map.bound && *map.bound > 0 && std::isfinite(*map.bound) ? std::log10(*map.bound) : 400;
  std::string content;
  size_t at = 0;
  if (bars.zero > 0) content += bar_svg(row, at++, bars.zero, "bar", "0");
  const double origin = kBarsLeft + row.step * static_cast<double>(at);
  for (size_t i = 0; i < bars.decades.size(); ++i) {
    const int exponent = bars.first + static_cast<int>(i);
    const char* name = exponent >= bound ? "bar over" : "bar";
    content += bar_svg(row, at++, bars.decades[i], name,
                       i % stride == 0 ? fmt::format("1e{}", exponent) : "");
  }
  if (bars.not_finite > 0) content += bar_svg(row, at++, bars.not_finite, "bar nf", "inf/nan");
  const double bottom = kAbove + kBarsHeight;
  content += svg_line("axis", kBarsLeft, bottom, kRight, bottom);
  std::string caption = "<strong>Elements by size of error</strong>: each bar begins at its label";
  if (!bars.decades.empty() && bound < 400) {
    const double x = origin + row.step * (bound - bars.first);
    content += svg_line("bound", x, 4, x, bottom + 18);
    content += svg_text(std::clamp(x, 60.0, kRight - 60), bottom + 29, "middle",
                        fmt::format("bound {:.3g}", *map.bound));
    caption += "; dashed: what the worst element may be off";
  }
  std::string counts;
  for (const auto& [name, count] : map.distribution) {
    counts += fmt::format("{}{} at {}", counts.empty() ? "" : ", ", count, name);
  }
  return svg_figure(bottom + 34, content + "\n", "Elements by size of error: " + counts, caption);
}

std::string errors_by_size(const std::vector<CaseSample>& samples) {
  if (samples.size() < 2) return "";
  constexpr double kLeft = 46, kBottom = 150;
  const ShareAxis axis(samples, kBottom, kAbove);
  double least = 1e300, most = 1;
  for (const CaseSample& one : samples) {
    const auto elements = static_cast<double>(std::max<uint64_t>(1, one.elements));
    least = std::min(least, elements);
    most = std::max(most, elements);
  }
  const double decades = std::max(0.3, std::log10(most / least));
  Dots dots;
  for (const CaseSample& one : samples) {
    const auto elements = static_cast<double>(std::max<uint64_t>(1, one.elements));
    const double part = std::log10(elements / least) / decades;
    dots.add(kLeft + 6 + part * (kRight - kLeft - 12), axis.at(one.bound_ratio), one.passed);
  }
  std::string content;
  for (int decade = axis.first; decade <= axis.last; decade += axis.stride()) {
    const double y = axis.at(std::pow(10, decade));
    content += svg_line("grid", kLeft, y, kRight, y);
    content += svg_text(kLeft - 5, y + 4, "end", axis.text(decade));
  }
  content += svg_line("axis", kLeft, kBottom, kRight, kBottom);
  content += svg_line("bound", kLeft, axis.at(1), kRight, axis.at(1));
  content += svg_text(kRight, axis.at(1) - 4, "end", "bound");
  content += dots.svg();
  content += svg_text(kLeft, kBottom + 14, "start", fmt::format("{:.0f}", least));
  content += svg_text(kRight, kBottom + 14, "end", fmt::format("{:.0f} elements", most));
  return svg_figure(
      kBottom + 20, content + "\n", "Error against size: " + failing_text(samples),
      fmt::format("<strong>Error against size</strong>: as a share of what is allowed; {}",
                  kLegend));
}

std::string errors_by_strategy(const std::vector<CaseSample>& samples) {
  if (samples.size() < 2) return "";
  constexpr double kLeft = 132, kRow = 15;
  constexpr size_t kRowsMax = 32;
  struct Row {
    std::string name;
    std::vector<const CaseSample*> cases;
    size_t failing = 0;
  };
  std::map<std::string, Row> by_name;
  for (const CaseSample& one : samples) {
    Row& row = by_name[one.values];
    row.name = one.values;
    row.cases.push_back(&one);
    if (!one.passed) ++row.failing;
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater<>(), [](const Row& row) {
    return static_cast<double>(row.failing) / static_cast<double>(row.cases.size());
  });
  const size_t left_out = rows.size() - std::min(rows.size(), kRowsMax);
  rows.resize(std::min(rows.size(), kRowsMax));
  const ShareAxis axis(samples, kLeft + 6, kRight - 6);
  const double bottom = kAbove + kRow * static_cast<double>(rows.size());
  std::string content;
  for (int decade = axis.first; decade <= axis.last; decade += axis.stride()) {
    const double x = axis.at(std::pow(10, decade));
    content += svg_line("grid", x, kAbove, x, bottom);
    content += svg_text(x, bottom + 13, "middle", axis.text(decade));
  }
  Dots dots;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = kAbove + kRow * (static_cast<double>(i) + 0.5);
    content += svg_text(
        kLeft - 4, y + 4, "end",
        fmt::format("{} {}/{}", clipped(rows[i].name, 16), rows[i].failing, rows[i].cases.size()));
    for (const CaseSample* one : rows[i].cases) dots.add(axis.at(one->bound_ratio), y, one->passed);
  }
  content += svg_line("axis", kLeft, bottom, kRight, bottom);
  content += svg_line("bound", axis.at(1), kAbove - 4, axis.at(1), bottom);
  content += svg_text(axis.at(1), kAbove - 6, "middle", "bound");
  content += dots.svg();
  return svg_figure(
      bottom + 20, content + "\n", "Error against value strategy: " + failing_text(samples),
      fmt::format("<strong>Error against value strategy</strong>, failing / all cases of each{}; "
                  "{}",
                  left_out > 0 ? fmt::format("; {} more strategies", left_out) : "", kLegend));
}

}  // namespace gpuemu::cli
