#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/trace/render.h"
#include "cli/trace/spans.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Returns "local" for "local-0": the workers of a host share a name, followed by their number.
std::string host_of(const tape::Device& device) {
  const size_t dash = device.worker_id.rfind('-');
  return dash == std::string::npos ? device.worker_id : device.worker_id.substr(0, dash);
}

class Events {
 public:
  explicit Events(const tape::Trace& trace) : trace_(trace), spans_(trace) {
    for (const tape::Device& device : trace.devices) {
      const auto number = static_cast<int>(hosts_.size()) + 1;
      hosts_.emplace(host_of(device), number);
    }
  }

  std::string text() {
    name_rows();
    for (const tape::Queued& line : trace_.output_queue) add(line);
    const Json all = {{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ms"}};
    return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  Json row(uint32_t device) const {
    const bool is_known = device < trace_.devices.size();
    const int host = is_known ? hosts_.at(host_of(trace_.devices[device])) : 1;
    return {{"pid", host}, {"tid", device + 1}};
  }
  Json event(const char* phase, const std::string& name, Json where) const {
    Json event = {{"ph", phase}, {"name", name}};
    event.update(where);
    return event;
  }
  void name_rows() {
    for (const auto& [host, number] : hosts_) {
      Json one = event("M", "process_name", {{"pid", number}});
      one["args"] = {{"name", host}};
      events_.push_back(std::move(one));
    }
    for (const tape::Device& device : trace_.devices) {
      Json one = event("M", "thread_name", row(device.index));
      one["args"] = {{"name", fmt::format("device {}: {}", device.index, device.name)}};
      events_.push_back(std::move(one));
    }
  }

  void add(const tape::Queued& line) {
    const Span span = spans_.of(line.pos);
    if (!span.begin_us) return;
    const std::string name = spans_.text(line);
    // Work that no device does, such as freeing, is a mark on its host.
    Json one = line.device ? event("X", name, row(*line.device)) : event("i", name, {{"pid", 1}});
    one["cat"] = name_of(line.kind);
    one["ts"] = *span.begin_us;
    if (line.device) one["dur"] = span.end_us.value_or(*span.begin_us) - *span.begin_us;
    if (!line.device) one["s"] = "p";
    one["args"] = {
        {"pos", line.pos}, {"session", line.session}, {"id", line.id}, {"needs", line.needs}};
    if (line.seq) one["args"]["seq"] = *line.seq;
    if (line.bytes > 0) one["args"]["bytes"] = line.bytes;
    events_.push_back(std::move(one));
    if (line.kind == tape::Kind::Move) add_flow(line, span);
  }
  /// Adds an arrow from the operation that made the tensor there to the move.
  void add_flow(const tape::Queued& move, const Span& span) {
    for (const uint64_t pos : move.needs) {
      const tape::Queued* const writer = spans_.line(pos);
      const bool made_it = writer != nullptr && writer->device == move.from &&
                           writer->id == move.id && writer->session == move.session &&
                           writer->kind != tape::Kind::Spill;
      const Span made = spans_.of(pos);
      if (!made_it || !made.begin_us || !made.end_us) continue;
      Json from = event("s", "move", row(*move.from));
      from["cat"] = "move";
      from["id"] = move.pos;
      // Inside the bar of that operation.
      from["ts"] = static_cast<double>(*made.begin_us + *made.end_us) / 2;
      events_.push_back(std::move(from));
      Json to = event("f", "move", row(*move.device));
      to["cat"] = "move";
      to["id"] = move.pos;
      to["bp"] = "e";
      to["ts"] = *span.begin_us;
      events_.push_back(std::move(to));
      return;
    }
  }

  const tape::Trace& trace_;
  const Spans spans_;
  std::map<std::string, int> hosts_;
  Json events_ = Json::array();
};

}  // namespace

std::string trace_chrome(const tape::Trace& trace) { return Events(trace).text(); }

}  // namespace gpuemu::cli
