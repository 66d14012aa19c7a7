#include "daemon/pipeline/case_run.h"

#include "daemon/execution/execute_case.h"
#include "daemon/pipeline/stages.h"
#include "daemon/schedule/slot.h"

namespace gpuemu {

CaseRun::~CaseRun() { abandon(work_); }

void CaseRun::plan() {
  planned_ = stages().front().run(work_);
  if (*planned_) ask_for_expected(work_);
  work_.pause();
}

void CaseRun::launch() {
  work_.resume();
  if (*planned_) gpuemu::launch(work_);
  work_.pause();
}

Result<CaseReport> CaseRun::finish() {
  if (planned_) work_.resume();
  for (const Stage& stage : stages()) {
    if (!work_.applies(stage)) continue;
    const bool is_done = stage.kind == StageKind::Plan && planned_;
    const Result<Next> next = is_done ? *planned_ : stage.run(work_);
    // Results of a stage whose run was cancelled say nothing about the case.
    if (work_.slot.worker.was_cancelled() || work_.slot.reference.was_cancelled()) {
      return error(ErrorCode::Cancelled, "the case was cancelled");
    }
    if (!next) return next.error();
    if (*next == Next::SkipValues) work_.skip_values();
  }
  return std::move(work_.report);
}

Result<CaseReport> run_case(const CaseRequest& request, Slot& slot) {
  return CaseRun(request, slot).finish();
}

}  // namespace gpuemu
