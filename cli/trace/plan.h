// Schedules a tape in simulated time, without running anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::cli {

/// Options of the command line that override the file.
struct PlanOptions {
  std::optional<uint32_t> devices;    ///< This many equal devices.
  std::optional<uint64_t> memory_mb;  ///< MiB of each device; 0: no limit.
  std::optional<uint64_t> seed;
  std::optional<tape::Policy> policy;
};

/// Plans a tape. `json` is an object with a list "input_tape"; it may be a trace. Without a list of
/// devices there is one. InvalidArgument names the wrong entry or member.
Result<tape::Trace> plan_tape(const std::string& json, const PlanOptions& options);

}  // namespace gpuemu::cli
