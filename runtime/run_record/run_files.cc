// Writes and reads the files of a run other than its findings: settings and traces.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/files.h"
#include "runtime/run_record/run_settings.h"
#include "runtime/run_record/run_trace.h"

namespace gpuemu {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kSettingsBytesMax = size_t{1} << 20;

std::string settings_file(const std::string& folder) { return folder + "/settings.json"; }

constexpr const char* kTraceExtension = ".trace";

std::string event_line(const json& event) {
  return event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

double microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

Status write_run_settings(const std::string& folder, const DriverSettings& settings) {
  json devices = json::array();
  for (const RunDevice& one : settings.devices) {
    devices.push_back({{"sm", one.sm}, {"memory_bytes", one.memory_bytes}});
  }
  const json document{{"devices", devices},
                      {"checks", settings.checks.bits()},
                      {"leaks", settings.leaks},
                      {"host_calls", settings.host_calls},
                      {"streams", settings.streams},
                      {"replicas", settings.replicas},
                      {"trace", settings.trace},
                      {"count_forms", settings.count_forms},
                      {"launch_timeout_ms", settings.launch_timeout_ms},
                      {"launch_timeout_restarts", settings.launch_timeout_restarts},
                      {"schedule_seed", settings.schedule_seed},
                      {"driver_version", settings.driver_version},
                      {"on_finding", static_cast<int>(settings.on_finding)},
                      {"findings_max", settings.findings_max}};
  return write_file(settings_file(folder), document.dump());
}

Result<DriverSettings> read_run_settings(const std::string& folder) {
  const std::string text = GPUEMU_TRY(read_file(settings_file(folder), kSettingsBytesMax));
  try {
    const json document = json::parse(text);
    DriverSettings made;
    made.devices.clear();
    for (const json& one : document.at("devices")) {
      made.devices.push_back({one.at("sm"), one.at("memory_bytes")});
    }
    made.checks = DeviceChecks::from_bits(document.at("checks"));
    made.leaks = document.at("leaks");
    made.host_calls = document.at("host_calls");
    made.streams = document.at("streams");
    made.replicas = document.at("replicas");
    made.trace = document.at("trace");
    made.count_forms = document.at("count_forms");
    made.launch_timeout_ms = document.at("launch_timeout_ms");
    made.launch_timeout_restarts = document.at("launch_timeout_restarts");
    made.schedule_seed = document.at("schedule_seed");
    made.driver_version = document.at("driver_version");
    made.on_finding = static_cast<OnFinding>(document.at("on_finding").get<int>());
    made.findings_max = document.at("findings_max");
    return made;
  } catch (const json::exception& wrong) {
    return error(ErrorCode::Corruption, "{} is damaged: {}", settings_file(folder), wrong.what());
  }
}

std::string encode_line(const RunTraceRow& row) {
  return event_line({{"ph", "M"},
                     {"name", "thread_name"},
                     {"pid", row.process},
                     {"tid", row.number},
                     {"args", {{"name", row.name}}}});
}

std::string encode_line(const RunTraceEvent& event) {
  json made = {{"ph", "X"},
               {"name", event.name},
               {"cat", event.kind},
               {"pid", event.process},
               {"tid", event.row},
               {"ts", microseconds(event.begin_ns)},
               {"dur", microseconds(event.end_ns - event.begin_ns)}};
  if (event.instructions != 0) made["args"] = {{"thread instructions", event.instructions}};
  return event_line(made);
}

std::string trace_file_name(const std::string& folder, int pid) {
  return (fs::path(folder) / (std::to_string(pid) + kTraceExtension)).string();
}

Status write_trace(const std::string& folder, const std::string& path) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == kTraceExtension) files.push_back(entry.path());
  }
  if (failed) return error(ErrorCode::Io, "cannot read {}: {}", folder, failed.message());
  std::ranges::sort(files);
  std::ofstream to(path, std::ios::trunc);
  to << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  bool is_first = true;
  for (const fs::path& file : files) {
    std::ifstream from(file);
    if (!from) return error(ErrorCode::Io, "cannot read the trace in {}", file.string());
    for (std::string line; std::getline(from, line);) {
      if (!json::accept(line)) continue;
      to << (is_first ? "" : ",\n") << line;
      is_first = false;
    }
  }
  to << "\n]}\n";
  to.close();
  return to ? ok_status() : error(ErrorCode::Io, "cannot write the trace to {}", path);
}

}  // namespace gpuemu
