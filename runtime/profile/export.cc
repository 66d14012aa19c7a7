// A profile as a Chrome trace and as plain JSON.
#include <nlohmann/json.hpp>

#include "runtime/profile/profiler.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

// The two processes of a trace; its viewer shows one group of tracks for each.
constexpr int kHost = 1;
constexpr int kDevice = 2;

Json name_of_process(int process, const char* name) {
  return {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}};
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
  return {{"name", name},
          {"launches", kernel.launches},
          {"total_us", kernel.time.total_us},
          {"instructions", kernel.instructions},
          {"divergent_branches", kernel.divergent_branches},
          {"global_requests", memory.global_requests},
          {"global_bytes", memory.global_bytes},
          {"sectors", memory.sectors},
          {"sectors_per_request", per_request},
          {"coalescing", coalescing(memory)},
          {"shared_requests", memory.shared_requests},
          {"bank_conflicts", memory.bank_conflicts}};
}

}  // namespace

std::string ProfileResult::chrome_trace() const {
  Json events = Json::array();
  events.push_back(name_of_process(kHost, "host threads"));
  events.push_back(name_of_process(kDevice, "device streams"));
  for (const TraceSpan& span : spans) {
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", span.on_device ? "op" : "range"},
                      {"pid", span.on_device ? kDevice : kHost},
                      {"tid", span.track},
                      {"ts", span.begin_us},
                      {"dur", span.duration_us}});
  }
  return text_of({{"traceEvents", events}, {"displayTimeUnit", "ns"}});
}

std::string ProfileResult::json() const {
  Json list = Json::array();
  for (const auto& [name, kernel] : kernels) list.push_back(kernel_json(name, kernel));
  return text_of({{"ops", times_json(ops)},
                  {"ranges", times_json(ranges)},
                  {"kernels", list},
                  {"dropped", dropped}});
}

}  // namespace gpuemu
