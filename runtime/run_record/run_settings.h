// Passes settings from `gpuemu run` to the driver in the processes that it starts, through a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/base/result.h"

namespace gpuemu {

/// The environment variable with the folder of the settings and the findings of a run.
inline constexpr const char* kRunFolderVariable = "GPUEMU_RUN";
/// The environment variable with the architecture of the device where no `gpuemu run` has said it.
inline constexpr const char* kRunArchVariable = "GPUEMU_RUN_ARCH";

/// What a fault of a kernel does to later driver calls.
enum class OnFinding : uint8_t {
  Report,  ///< The next call that waits fails; the context stays usable.
  Sticky,  ///< That call and every later call that needs a context fails, as on a GPU.
  Ignore,  ///< No call fails.
};

struct RunDevice {
  int sm = 80;
  uint64_t memory_bytes = uint64_t{8} << 30;
};

struct DriverSettings {
  std::vector<RunDevice> devices = std::vector<RunDevice>(1);
  DeviceChecks checks = kUsualChecks;
  bool leaks = false;        ///< Report what is still allocated at the end.
  bool host_calls = true;    ///< Report wrong driver calls.
  bool streams = true;       ///< Report work of two streams that meets without an order.
  bool replicas = false;     ///< What threads of Triton do twice is an error and no note.
  bool trace = false;        ///< Write when calls and kernels ran.
  bool count_forms = false;  ///< Count the executed forms of instructions; kernels are slower.
  uint64_t launch_timeout_ms = 30'000;
  uint64_t schedule_seed = 0;
  int driver_version = 13000;  ///< 1000 * major + 10 * minor.
  OnFinding on_finding = OnFinding::Report;
  uint64_t findings_max = 1000;  ///< The different findings that a process records.
};

/// Io names the file that cannot be written.
Status write_run_settings(const std::string& folder, const DriverSettings& settings);
/// NotFound, Io or Corruption names the file that cannot be read.
Result<DriverSettings> read_run_settings(const std::string& folder);

}  // namespace gpuemu
