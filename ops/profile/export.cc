// Writes a profile as a Chrome trace and as plain JSON.
#include <nlohmann/json.hpp>

#include "ops/profile/profiler.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

/// The processes of a trace; the viewer shows a group of tracks for each.
struct Process {
  int number;
  const char *title, *category;
};
constexpr Process kProcesses[] = {
    {1, "host threads", "range"}, {2, "device streams, ops", "op"}, {3, "kernels", "kernel"}};

const Process& process_of(TraceSpan::Kind kind) { return kProcesses[static_cast<size_t>(kind)]; }

Json name_of(const Process& process) {
  return {{"ph", "M"},
          {"name", "process_name"},
          {"pid", process.number},
          {"args", {{"name", process.title}}}};
}

Json event_of(const TraceSpan& span) {
  const Process& process = process_of(span.kind);
  Json event = {{"ph", "X"},
                {"name", span.name},
                {"cat", process.category},
                {"pid", process.number},
                {"tid", span.track},
                {"ts", span.begin_us},
                {"dur", span.duration_us}};
  if (!span.geometry.empty()) event["args"] = {{"launch", span.geometry}};
  return event;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json times_json(const std::map<std::string, TimeStatistics>& times) {
  Json list = Json::array();
  for (const auto& [name, time] : times) {
    list.push_back({{"name", name},
                    {"count", time.count},
                    {"total_us", time.total_us},
                    {"mean_us", time.mean_us()},
                    {"min_us", time.min_us},
                    {"max_us", time.max_us}});
  }
  return list;
}

Json kernel_json(const std::string& name, const KernelCounts& kernel) {
  const MemoryCount& memory = kernel.memory;
  const double per_request =
      memory.global_requests == 0
          ? 0
          : static_cast<double>(memory.sectors) / static_cast<double>(memory.global_requests);
  Json json = {{"name", name},
               {"launches", kernel.launches},
               {"total_us", kernel.time.total_us},
               {"mean_us", kernel.time.mean_us()},
               {"min_us", kernel.time.min_us},
               {"max_us", kernel.time.max_us},
               {"instructions", kernel.instructions},
               {"divergent_branches", kernel.divergent_branches},
               {"bytes",
                {{"global", kernel.bytes.global},
                 {"shared", kernel.bytes.shared},
                 {"local", kernel.bytes.local}}},
               {"global_requests", memory.global_requests},
               {"global_bytes", memory.global_bytes},
               {"sectors", memory.sectors},
               {"sectors_per_request", per_request},
               {"coalescing", coalescing(memory)},
               {"shared_requests", memory.shared_requests},
               {"bank_conflicts", memory.bank_conflicts}};
  if (kernel.registers) json["registers"] = *kernel.registers;
  if (kernel.local_bytes) json["local_bytes"] = *kernel.local_bytes;
  return json;
}

}  // namespace

std::string ProfileResult::chrome_trace() const {
  Json events = Json::array();
  for (const Process& process : kProcesses) events.push_back(name_of(process));
  for (const TraceSpan& span : spans) events.push_back(event_of(span));
  for (const auto& [us, bytes] : memory) {
    events.push_back({{"ph", "C"},
                      {"name", "memory"},
                      {"pid", kProcesses[1].number},
                      {"ts", us},
                      {"args", {{"bytes", bytes}}}});
  }
  return text_of({{"traceEvents", events}, {"displayTimeUnit", "ns"}});
}

std::string ProfileResult::json() const {
  Json list = Json::array();
  for (const auto& [name, kernel] : kernels) list.push_back(kernel_json(name, kernel));
  return text_of({{"ops", times_json(ops)},
                  {"ranges", times_json(ranges)},
                  {"kernels", list},
                  {"dropped", dropped},
                  {"notes", notes}});
}

}  // namespace gpuemu
