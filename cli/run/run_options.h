// Turns the options of `gpuemu run` into settings of the driver and an environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_settings.h"

namespace gpuemu::cli {

struct RunOptions {
  std::vector<std::string> command;
  std::string arch = "sm_80", devices = "1", memory = "8G";
  std::string checks, fail_on, on_finding = "report", cuda_version = "13.0";
  uint64_t error_exit_code = 1, findings_max = 1000, schedule_seed = 0;
  std::optional<uint64_t> launch_timeout_s;
  std::string timeout, output, suppress_template, trace, fidelity;
  std::vector<std::string> suppress;
  bool quiet = false, dry_run = false;
  std::string autotune = "first";
  bool torch_forced = false, no_torch = false, no_triton = false, no_numba = false;
};

/// Converts the options to driver settings. InvalidArgument names the option, its value and what
/// was expected.
Result<DriverSettings> driver_settings(const RunOptions& options);

/// The contents of --fail-on.
struct FailOn {
  std::vector<std::string> kinds;  ///< Empty: all findings except notes count.
  bool unmeasured = false;  ///< Whether modelled forms of instructions become findings that count.
};
/// InvalidArgument names an unknown kind.
Result<FailOn> fail_on_of(const RunOptions& options);

/// Returns the bytes of "8G", "512M" or "65536". InvalidArgument names the option.
Result<uint64_t> parse_size(const std::string& option, const std::string& text);

/// Returns the environment of the program: `own` with our driver before all others.
std::map<std::string, std::string> program_environment(std::map<std::string, std::string> own,
                                                       const std::string& library_folder,
                                                       const std::string& run_folder);

/// Returns the Python packages to prepare, as in "torch,triton".
std::string prepared_packages(const RunOptions& options);

/// Returns the folder of our libcuda.so.1, beside that of the program gpuemu. NotFound says where
/// it was expected.
Result<std::string> find_library_folder(const std::string& program_folder);

/// Returns the words of a list such as "a,b"; empty ones are left out.
std::vector<std::string> split_list(const std::string& list);

}  // namespace gpuemu::cli
