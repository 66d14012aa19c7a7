// One failing case explained: which of its values is wrong, whether formula or arithmetic is to
// blame, at which instruction, and who stands alone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/protocol/records.h"
#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

class Campaign;
struct CasePlan;
struct Config;
struct ExplainResultReply;
struct OpConfig;

/// Where cases run. All must outlive the use.
struct ExplainMachines {
  Campaign& own;            ///< Where the case failed.
  std::string own_backend;  ///< "cuda"
  /// The emulator, which alone follows values without rounding. Unavailable where it cannot start.
  std::function<Result<Campaign*>()> emulator;
  /// The backend that could contradict `own`; "" where there is none.
  std::string other_backend;
  std::function<Result<Campaign*>()> other;
};

struct ExplainTask {
  const Config& config;
  const OpConfig& op;
  const CasePlan& plan;
  std::string output;            ///< "": the one whose error is the worst.
  std::optional<int64_t> index;  ///< Absent: the worst element.
  LaneClaim claim;
  uint64_t timeout_ms = 0;  ///< Limit of each run with shadows; 0: the project's.
  /// The invariant or relation to explain, though values are wrong too.
  std::optional<FindingKind> property = {};
};

/// InvalidArgument for an output or an element that there is not.
Result<ExplainResultReply> explain_case(const ExplainTask& task, const ExplainMachines& machines);

}  // namespace gpuemu
