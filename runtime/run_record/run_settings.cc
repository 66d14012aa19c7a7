#include "runtime/run_record/run_settings.h"

#include <nlohmann/json.hpp>

#include "common/base/files.h"

namespace gpuemu {
namespace {

using nlohmann::json;

constexpr size_t kFileBytesMax = size_t{1} << 20;

std::string file_of(const std::string& folder) { return folder + "/settings.json"; }

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
                      {"trace", settings.trace},
                      {"launch_timeout_ms", settings.launch_timeout_ms},
                      {"schedule_seed", settings.schedule_seed},
                      {"driver_version", settings.driver_version},
                      {"on_finding", static_cast<int>(settings.on_finding)},
                      {"findings_max", settings.findings_max}};
  return write_file(file_of(folder), document.dump());
}

Result<DriverSettings> read_run_settings(const std::string& folder) {
  const std::string text = GPUEMU_TRY(read_file(file_of(folder), kFileBytesMax));
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
    made.trace = document.at("trace");
    made.launch_timeout_ms = document.at("launch_timeout_ms");
    made.schedule_seed = document.at("schedule_seed");
    made.driver_version = document.at("driver_version");
    made.on_finding = static_cast<OnFinding>(document.at("on_finding").get<int>());
    made.findings_max = document.at("findings_max");
    return made;
  } catch (const json::exception& wrong) {
    return error(ErrorCode::Corruption, "{} is damaged: {}", file_of(folder), wrong.what());
  }
}

}  // namespace gpuemu
