// What `gpuemu run` asks of the processes that it starts: a file in a folder that the environment
// names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/base/result.h"

namespace gpuemu {

/// Names the folder.
inline constexpr const char* kRunFolderVariable = "GPUEMU_RUN";

/// What a kernel's fault does to later calls.
enum class OnFinding : uint8_t {
  Report,  ///< The next call that waits fails, and the context lives.
  Sticky,  ///< Every later call that waits fails, as on a GPU.
  Ignore,  ///< No call fails.
};

struct RunDevice {
  int sm = 80;
  uint64_t memory_bytes = uint64_t{8} << 30;
};

struct DriverSettings {
  std::vector<RunDevice> devices = std::vector<RunDevice>(1);
  DeviceChecks checks = kUsualChecks;
  bool leaks = false;      ///< What is still allocated at the end is a finding.
  bool host_calls = true;  ///< Wrong calls of the host are findings.
  uint64_t launch_timeout_ms = 30'000;
  uint64_t schedule_seed = 0;
  int driver_version = 13000;  ///< 1000 * major + 10 * minor.
  OnFinding on_finding = OnFinding::Report;
  uint64_t findings_max = 1000;  ///< The most that a process records.
};

Status write_run_settings(const std::string& folder, const DriverSettings& settings);
Result<DriverSettings> read_run_settings(const std::string& folder);

}  // namespace gpuemu
