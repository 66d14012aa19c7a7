#include "cli/trace/spans.h"

#include <fmt/ranges.h>

namespace gpuemu::cli {

Spans::Spans(const tape::Trace& trace) : trace_(trace) {
  for (const tape::Tick& tick : trace.ticks) {
    for (const uint64_t pos : tick.started) spans_[pos].begin_us = tick.time_us;
    for (const uint64_t pos : tick.ended) spans_[pos].end_us = tick.time_us;
  }
  for (const tape::Queued& line : trace.output_queue) lines_[line.pos] = &line;
  for (const tape::Entry& entry : trace.input_tape) entries_[entry.seq] = &entry;
}

Span Spans::of(uint64_t pos) const {
  const auto found = spans_.find(pos);
  return found == spans_.end() ? Span{} : found->second;
}

const tape::Queued* Spans::line(uint64_t pos) const {
  const auto found = lines_.find(pos);
  return found == lines_.end() ? nullptr : found->second;
}

const tape::Entry* Spans::entry(uint64_t seq) const {
  const auto found = entries_.find(seq);
  return found == entries_.end() ? nullptr : found->second;
}

std::string Spans::text(const tape::Queued& line) const {
  const std::string text = text_of_first(line);
  return line.attempt == 0 ? text : fmt::format("{} (attempt {})", text, line.attempt);
}

std::string Spans::text_of_first(const tape::Queued& line) const {
  // With several sessions, the name alone is ambiguous.
  const std::string id =
      trace_.sessions.size() > 1 ? line.session + "/" + line.id : std::string(line.id);
  switch (line.kind) {
    case tape::Kind::Run: {
      const tape::Entry* const made = line.seq ? entry(*line.seq) : nullptr;
      if (made == nullptr) return "run " + id;
      if (made->inputs.empty()) return fmt::format("run {} = {}", id, made->op);
      return fmt::format("run {} = {}({})", id, made->op, fmt::join(made->inputs, ", "));
    }
    case tape::Kind::Move:
      return fmt::format("move {} {}>{}", id, line.from.value_or(0), line.device.value_or(0));
    case tape::Kind::Free:
      return fmt::format("free {}{}", id, line.device ? fmt::format(" on {}", *line.device) : "");
    case tape::Kind::Spill:
    case tape::Kind::Load:
    case tape::Kind::Fetch:
      return fmt::format("{} {}", name_of(line.kind), id);
  }
  return id;
}

}  // namespace gpuemu::cli
