// What the options of `gpuemu run` ask for.
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
  uint64_t error_exit_code = 1, findings_max = 1000, launch_timeout_s = 30, schedule_seed = 0;
  std::string timeout, output, suppress_template;
  std::vector<std::string> suppress;
  bool quiet = false, dry_run = false;
};

/// InvalidArgument names the option, what it has and what it may have.
Result<DriverSettings> driver_settings(const RunOptions& options);

/// "8G", "512M", "65536": bytes.
Result<uint64_t> parse_size(const std::string& option, const std::string& text);

/// The variables of the program, given those of this process: our driver in front.
std::map<std::string, std::string> program_environment(std::map<std::string, std::string> own,
                                                       const std::string& library_folder,
                                                       const std::string& run_folder);

/// The folder of our libcuda.so.1 beside the program's. NotFound says where it should be.
Result<std::string> find_library_folder(const std::string& program_folder);

/// "a,b": the words between the commas.
std::vector<std::string> words_of(const std::string& list);

}  // namespace gpuemu::cli
