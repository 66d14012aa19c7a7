// The state that the stages of one case share. Each member is filled by the stage that its comment
// names.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "daemon/case/case_report.h"
#include "daemon/case/case_request.h"
#include "daemon/case/compared_values.h"
#include "daemon/case/stage.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/reference/reference_process.h"

namespace gpuemu {

struct Slot;

/// The answers of the kernel and, if the op has one, of the reference.
struct Execution {
  std::optional<Status> asked, launched;  ///< Whether the reference and the kernel could begin.
  Result<ExecutionReport> kernel = Error{};
  std::optional<Result<ReferenceReply>> reference;

  /// Returns null if there is no reference or it failed.
  const ReferenceReply* reply() const { return reference && *reference ? &**reference : nullptr; }
};

/// Used by one thread.
struct CaseWork {
  using Clock = std::chrono::steady_clock;
  CaseWork(const CaseRequest& asked, Slot& machine);

  bool applies(const Stage& stage) const {
    return stage.needs == Needs::Nothing || !values_skipped_;
  }
  void skip_values() { values_skipped_ = true; }
  bool wants(Extra extra) const { return request.settings.extras.has(extra); }
  /// The time in which its thread works on other cases is not its own.
  void pause() { paused_ = Clock::now(); }
  void resume() { started += Clock::now() - paused_; }

  const CaseRequest& request;
  Slot& slot;
  CaseReport report;
  BuiltPlan built;            ///< Plan.
  Execution execution;        ///< Execute.
  ComparedValues values;      ///< Compare.
  NamedTensors outputs;       ///< Extras: a copy, if a later stage or the report needs one.
  uint64_t instructions = 0;  ///< DeviceFaults: summed over all threads; 0 on a device that cannot
                              ///< count.
  Clock::time_point started = Clock::now();

 private:
  Clock::time_point paused_;
  bool values_skipped_ = false;
};

}  // namespace gpuemu
