// Explains one failing case: which of its values is wrong, whether the formula or the arithmetic is
// to blame, at which instruction, and which of kernel, reference and devices disagrees with the
// others.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/protocol/records.gen.h"
#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

class Campaign;
struct CasePlan;
struct Config;
struct ExplainResultReply;
struct OpConfig;

/// The places to run cases. All must outlive the use.
struct ExplainMachines {
  Campaign& own;            ///< The campaign in which the case failed.
  std::string own_backend;  ///< For example "cuda".
  /// The emulator; no other backend follows values without rounding. Unavailable if it cannot
  /// start.
  std::function<Result<Campaign*>()> emulator;
  /// The backend that could contradict `own`; "" if there is none.
  std::string other_backend;
  std::function<Result<Campaign*>()> other;
};

struct ExplainTask {
  const Config& config;
  const OpConfig& op;
  const CasePlan& plan;
  std::string output;            ///< "": the output with the worst error.
  std::optional<int64_t> index;  ///< Absent: the worst element.
  LaneClaim claim;
  uint64_t timeout_ms = 0;  ///< Time limit of each run with shadows; 0: that of the project.
  /// The invariant or relation to explain, even if values are wrong too.
  std::optional<FindingKind> property = {};
};

/// InvalidArgument if the output or the element does not exist.
Result<ExplainResultReply> explain_case(const ExplainTask& task, const ExplainMachines& machines);

}  // namespace gpuemu
