// Renders a trace as text for a terminal.
#include <algorithm>

#include <fmt/ranges.h>

#include "cli/findings/one_line.h"
#include "cli/trace/render.h"
#include "cli/trace/spans.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

std::string summary_of(const tape::Trace& trace) {
  const tape::Totals& totals = trace.totals;
  return fmt::format("{}, policy {}, seed {}{}\n{}, {} of {}, {}, {} us\n",
                     counted(trace.devices.size(), "device"), name_of(trace.policy), trace.seed,
                     trace.simulated ? ", simulated" : "", counted(totals.ops, "op"),
                     counted(totals.moves, "move"), counted(totals.moved_bytes, "byte"),
                     counted(totals.spills, "spill"), totals.makespan_us);
}

std::string tick_text(const tape::Tick& tick, const Spans& spans) {
  const auto text_of = [&](uint64_t pos) {
    const tape::Queued* const line = spans.line(pos);
    return line == nullptr ? fmt::format("line {}", pos) : one_line(spans.text(*line));
  };
  std::string text = fmt::format("\ntick {} at {} us: ", tick.tick, tick.time_us);
  text += tick.waiting == 1 ? "1 op waits\n" : fmt::format("{} ops wait\n", tick.waiting);
  for (const uint64_t pos : tick.ended) text += fmt::format("  ended     {}\n", text_of(pos));
  for (size_t i = 0; i < tick.busy.size(); ++i) {
    const auto& pos = tick.busy[i];
    if (!pos) {
      text += fmt::format("  device {:<2} idle\n", i);
      continue;
    }
    const bool is_new = std::ranges::find(tick.started, *pos) != tick.started.end();
    text +=
        fmt::format("  device {:<2} busy  {}{}\n", i, text_of(*pos), is_new ? "  (starts)" : "");
  }
  for (const uint64_t pos : tick.started) {
    const tape::Queued* const line = spans.line(pos);
    if (line != nullptr && !line->device) text += fmt::format("  host      {}\n", text_of(pos));
  }
  return text;
}

std::string handle_text(const tape::Handle& handle) {
  std::string places = fmt::format("{}", fmt::join(handle.devices, ", "));
  if (handle.host) places += places.empty() ? "host" : ", host";
  return fmt::format("  {} of {}: {}{}{}, {}, {}\n", one_line(handle.id), one_line(handle.session),
                     name_of(handle.state), places.empty() ? "" : " on ", places,
                     counted(handle.bytes, "byte"), counted(handle.refs, "reference"));
}

}  // namespace

std::string trace_text(const tape::Trace& trace) {
  const Spans spans(trace);
  std::string text = summary_of(trace);
  for (const tape::Tick& tick : trace.ticks) text += tick_text(tick, spans);
  if (!trace.handles.empty()) text += "\nhandles\n";
  for (const tape::Handle& handle : trace.handles) text += handle_text(handle);
  return text;
}

}  // namespace gpuemu::cli
