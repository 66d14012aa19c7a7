// Schedules a tape on simulated time; runs nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::cli {

/// What the command line says in place of the file.
struct PlanOptions {
  std::optional<uint32_t> devices;    ///< So many equal ones.
  std::optional<uint64_t> memory_mb;  ///< MiB of each device; 0: no limit.
  std::optional<uint64_t> seed;
  std::optional<tape::Policy> policy;
};

/// `json` is an object with a list "input_tape"; it may be a trace. Without devices there is one.
/// InvalidArgument names the entry or the member that is wrong.
Result<tape::Trace> plan_tape(const std::string& json, const PlanOptions& options);

}  // namespace gpuemu::cli
