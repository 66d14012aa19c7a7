// Passes settings from `gpuemu run` to the driver in the processes that it starts, through a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/base/result.h"

namespace gpuemu {

/// Environment variable with the folder of a run's settings and findings.
inline constexpr const char* kRunFolderVariable = "GPUEMU_RUN";
/// Environment variable with the architecture of the device, if no `gpuemu run` sets it.
inline constexpr const char* kRunArchVariable = "GPUEMU_RUN_ARCH";

/// The effect of a kernel's fault on later driver calls.
enum class OnFinding : uint8_t {
  Report,  ///< The next call that waits fails; the context stays usable.
  Sticky,  ///< The next call that waits and every later call that needs a context fails, as on a
           ///< GPU.
  Ignore,  ///< No call fails.
};

struct RunDevice {
  int sm = 80;
  uint64_t memory_bytes = uint64_t{8} << 30;
};

struct DriverSettings {
  std::vector<RunDevice> devices = std::vector<RunDevice>(1);
  DeviceChecks checks = kUsualChecks;
  bool leaks = false;      ///< Report memory that is still allocated at the end.
  bool host_calls = true;  ///< Report incorrect driver calls.
  bool streams = true;    ///< Report conflicting accesses from two streams without an order between
                          ///< them.
  bool replicas = false;  ///< Report duplicated work of Triton's threads as an error instead of a
                          ///< note.
  bool trace = false;     ///< Write the times of calls and kernels.
  bool count_forms = false;  ///< Count the executed forms of instructions; slows kernels down.
  uint64_t launch_timeout_ms = 30'000;
  bool launch_timeout_restarts = true;  ///< LaunchConfig::timeout_restarts.
  uint64_t schedule_seed = 0;
  int driver_version = 13000;  ///< 1000 * major + 10 * minor.
  OnFinding on_finding = OnFinding::Report;
  uint64_t findings_max = 1000;  ///< Distinct findings that a process records.
};

/// Io names the file that cannot be written.
Status write_run_settings(const std::string& folder, const DriverSettings& settings);
/// NotFound, Io or Corruption names the file that cannot be read.
Result<DriverSettings> read_run_settings(const std::string& folder);

}  // namespace gpuemu
