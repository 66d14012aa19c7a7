// Runs one case end to end: the stages of daemon/pipeline/stages.h, in their order.
#pragma once

#include "common/base/result.h"
#include "daemon/case/case_report.h"
#include "daemon/case/case_work.h"

namespace gpuemu {

struct CaseRequest;
struct Slot;

/// A case whose plan and whose execution may begin before those of others on places of the same
/// slot are finished.
class CaseRun {
 public:
  /// Both must outlive it.
  CaseRun(const CaseRequest& request, Slot& slot) : work_(request, slot) {}
  ~CaseRun();
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  /// Makes the plan and asks for the expected values, without waiting for them. finish() returns an
  /// error.
  void plan();
  /// Sends the plan to the worker. REQUIRES: plan().
  void launch();
  /// Runs what is left and returns the report. Faults of the kernel or the reference are in the
  /// result's failures; an error means that the case could not be made (its schema does not
  /// evaluate, no shared memory, no Python).
  Result<CaseReport> finish();

 private:
  CaseWork work_;
  std::optional<Result<Next>> planned_;
};

/// Runs a case alone.
Result<CaseReport> run_case(const CaseRequest& request, Slot& slot);

}  // namespace gpuemu
