#include <algorithm>

#include <fmt/ranges.h>

#include "cli/report/escape.h"
#include "cli/report/html_style.h"
#include "cli/report/svg.h"
#include "cli/trace/render.h"
#include "cli/trace/spans.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// A page with more of them opens slowly; the trace file has all of them.
constexpr size_t kBarsMax = 2000, kRowsMax = 1000;
constexpr double kWidth = 1100, kLeft = 80, kRight = 12, kLane = 34, kBar = 24, kTop = 8;
/// Narrower bars have no text.
constexpr double kLetterWidth = 7;

constexpr const char* kTraceStyle = R"(
figure.lanes{max-width:none;overflow-x:auto}.lanes>svg{min-width:720px}
svg .bar-text{fill:#fff;font-size:11px}
rect.run{fill:#2f6fb7}rect.move{fill:#b4570a}rect.spill{fill:#a1202b}rect.load{fill:#7a49b8}
rect.fetch{fill:#2b7a4b}rect.free{fill:#6e7781}.arrow{stroke:#b4570a;fill:none;stroke-width:1.3}
.key i{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .9em;border-radius:2px}
)";

std::string cell(const std::string& text) { return markup(clean(text)); }

/// Draws the bars of devices over time.
class Timeline {
 public:
  Timeline(const tape::Trace& trace, const Spans& spans) : trace_(trace), spans_(spans) {
    for (const tape::Tick& tick : trace.ticks) end_us_ = std::max(end_us_, tick.time_us);
    if (!trace.ticks.empty()) begin_us_ = trace.ticks.front().time_us;
  }

  std::string svg() {
    const double height = kTop + kLane * static_cast<double>(trace_.devices.size()) + 24;
    std::string content;
    for (const tape::Device& device : trace_.devices) {
      const double y = lane(device.index);
      content +=
          svg_text(kLeft - 8, y + kBar * 0.68, "end", fmt::format("device {}", device.index));
      content += svg_line("grid", kLeft, y + kBar + 5, kWidth - kRight, y + kBar + 5);
    }
    for (const tape::Queued& line : trace_.output_queue) {
      if (bars_ == kBarsMax) break;
      content += bar(line);
    }
    content += axis(height) + arrows_;
    return fmt::format(
        "<figure class=\"lanes\"><svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"What "
        "each device does over time\">\n{}</svg><figcaption>{}</figcaption></figure>\n",
        kWidth, height, content,
        bars_ == kBarsMax ? fmt::format("The first {} lines; the trace file has {}.", kBarsMax,
                                        trace_.output_queue.size())
                          : "Estimated time in microseconds. Arrows are moves.");
  }

 private:
  static double lane(uint32_t device) { return kTop + kLane * device; }
  double x(uint64_t time_us) const {
    const double all = std::max<double>(1, static_cast<double>(end_us_ - begin_us_));
    const auto past = static_cast<double>(time_us - std::min(time_us, begin_us_));
    return kLeft + (kWidth - kLeft - kRight) * past / all;
  }
  std::string bar(const tape::Queued& line) {
    const Span span = spans_.of(line.pos);
    if (!line.device || !span.begin_us || *line.device >= trace_.devices.size()) return "";
    ++bars_;
    const uint64_t end = span.end_us.value_or(end_us_);
    const double left = x(*span.begin_us), width = std::max(1.0, x(end) - left - 1);
    const double y = lane(*line.device);
    const std::string text = clean(spans_.text(line));
    std::string svg = fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"3\">"
        "<title>{}, {} to {} us, line {}</title></rect>",
        name_of(line.kind), left, y, width, kBar, markup(text), *span.begin_us, end, line.pos);
    if (width > kLetterWidth * static_cast<double>(text.size())) {
      svg += fmt::format("<text class=\"bar-text\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", left + 5,
                         y + kBar * 0.68, markup(text));
    }
    if (line.kind == tape::Kind::Move && line.from && *line.from < trace_.devices.size()) {
      const double from = lane(*line.from) + kBar / 2, to = y + kBar / 2;
      arrows_ += fmt::format(
          "<path class=\"arrow\" d=\"M{0:.1f} {1:.1f}L{0:.1f} {2:.1f}l-3 {3}m3 {4}l3 {3}\"/>", left,
          from, to, from < to ? -6 : 6, from < to ? 6 : -6);
    }
    return svg + "\n";
  }
  std::string axis(double height) const {
    std::string marks;
    constexpr uint64_t kMarks = 5;
    for (uint64_t i = 0; i <= kMarks; ++i) {
      const uint64_t time = begin_us_ + (end_us_ - begin_us_) * i / kMarks;
      marks += svg_text(x(time), height - 6,
                        i == 0        ? "start"
                        : i == kMarks ? "end"
                                      : "middle",
                        fmt::format("{} us", time));
    }
    return marks;
  }

  const tape::Trace& trace_;
  const Spans& spans_;
  uint64_t begin_us_ = 0, end_us_ = 0;
  size_t bars_ = 0;
  std::string arrows_;
};

using MarkupRow = std::vector<std::string>;  ///< Markup.

/// Formats the first kRowsMax rows; `row` returns the cells of one.
template <typename T, typename Row>
std::string table(const char* title, const MarkupRow& heads, const std::vector<T>& values,
                  const Row& row) {
  std::string html = fmt::format("<details><summary>{} ({})</summary><div class=\"scroll\"><table>",
                                 title, values.size());
  html += fmt::format("<tr><th>{}</th></tr>\n", fmt::join(heads, "</th><th>"));
  for (size_t i = 0; i < std::min(values.size(), kRowsMax); ++i) {
    html += fmt::format("<tr><td>{}</td></tr>\n", fmt::join(row(values[i]), "</td><td>"));
  }
  html += "</table></div>";
  if (values.size() > kRowsMax) {
    html += fmt::format("<p class=\"mute\">The first {}; the trace file has all.</p>", kRowsMax);
  }
  return html + "</details>\n";
}

template <typename T>
std::string list(const std::vector<T>& values) {
  return cell(fmt::format("{}", fmt::join(values, ", ")));
}

template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

std::string devices_table(const tape::Trace& trace) {
  std::vector<uint64_t> busy(trace.devices.size()), ops(trace.devices.size());
  const Spans spans(trace);
  for (const tape::Queued& line : trace.output_queue) {
    const Span span = spans.of(line.pos);
    if (!line.device || *line.device >= busy.size()) continue;
    if (span.begin_us && span.end_us) busy[*line.device] += *span.end_us - *span.begin_us;
    if (line.kind == tape::Kind::Run) ++ops[*line.device];
  }
  std::string html =
      "<table><tr><th>device</th><th>worker</th><th class=\"n\">ops</th>"
      "<th class=\"n\">busy</th></tr>\n";
  for (size_t i = 0; i < trace.devices.size(); ++i) {
    const auto all = static_cast<double>(std::max<uint64_t>(1, trace.totals.makespan_us));
    html += fmt::format(
        "<tr><td>{}: {}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">"
        "{:.0f} %</td></tr>\n",
        i, cell(trace.devices[i].name), cell(trace.devices[i].worker_id), ops[i],
        100 * static_cast<double>(busy[i]) / all);
  }
  return html + "</table>\n";
}

std::string layers(const tape::Trace& trace, const Spans& spans) {
  std::string html =
      table("Input tape", {"seq", "session", "id", "op", "inputs", "shape", "dtype", "us", "tick"},
            trace.input_tape, [](const tape::Entry& one) -> MarkupRow {
              return {fmt::format("{}", one.seq),
                      cell(one.session),
                      cell(one.id),
                      cell(one.op),
                      list(one.inputs),
                      list(one.shape),
                      std::string(name_of(one.dtype)),
                      fmt::format("{}", one.cost_us.value_or(0)),
                      fmt::format("{}", one.at)};
            });
  html += table("Output queue", {"pos", "line", "device", "session", "bytes", "needs", "begin us"},
                trace.output_queue, [&](const tape::Queued& one) -> MarkupRow {
                  return {fmt::format("{}", one.pos),
                          cell(spans.text(one)),
                          shown(one.device),
                          cell(one.session),
                          fmt::format("{}", one.bytes),
                          list(one.needs),
                          shown(spans.of(one.pos).begin_us)};
                });
  html += table("Handles", {"id", "session", "state", "devices", "host", "bytes", "references"},
                trace.handles, [](const tape::Handle& one) -> MarkupRow {
                  return {cell(one.id),
                          cell(one.session),
                          std::string(name_of(one.state)),
                          list(one.devices),
                          one.host ? "yes" : "no",
                          fmt::format("{}", one.bytes),
                          fmt::format("{}", one.refs)};
                });
  return html + table("Ticks", {"tick", "us", "started", "ended", "waiting"}, trace.ticks,
                      [](const tape::Tick& one) -> MarkupRow {
                        return {fmt::format("{}", one.tick), fmt::format("{}", one.time_us),
                                list(one.started), list(one.ended), fmt::format("{}", one.waiting)};
                      });
}

}  // namespace

std::string trace_html(const tape::Trace& trace) {
  const Spans spans(trace);
  const tape::Totals& totals = trace.totals;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"><title>gpuemu trace</title><style>{}{}</style></head><body>\n"
      "<h1>gpuemu trace</h1>\n<p>devices: {}, policy {}, seed {}{}; ops: {}, moves: {} ({}), "
      "spills: {}; {} us</p>\n<p class=\"key mute\">",
      kPageStyle, kTraceStyle, trace.devices.size(), name_of(trace.policy), trace.seed,
      trace.simulated ? ", simulated" : "", totals.ops, totals.moves,
      counted(totals.moved_bytes, "byte"), totals.spills, totals.makespan_us);
  for (const char* kind : {"run", "move", "spill", "load", "fetch"}) {
    html += fmt::format(
        "<svg width=\"12\" height=\"12\" style=\"display:inline\"><rect "
        "class=\"{0}\" width=\"12\" height=\"12\" rx=\"2\"/></svg> {0} &nbsp; ",
        kind);
  }
  html += "</p>\n" + Timeline(trace, spans).svg() + devices_table(trace) + layers(trace, spans);
  return html + "</body></html>\n";
}

}  // namespace gpuemu::cli
