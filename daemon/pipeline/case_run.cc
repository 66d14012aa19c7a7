#include "daemon/pipeline/case_run.h"

#include "daemon/case/case_work.h"
#include "daemon/pipeline/stages.h"
#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

Result<CaseReport> run_case(const CaseRequest& request, Slot& slot) {
  CaseWork work(request, slot);
  for (const Stage& stage : stages()) {
    if (!work.applies(stage)) continue;
    const Result<Next> next = stage.run(work);
    // Results of a stage whose run was cancelled say nothing about the case.
    if (slot.worker.was_cancelled() || slot.reference.was_cancelled()) {
      return error(ErrorCode::Cancelled, "the case was cancelled");
    }
    if (!next) return next.error();
    if (*next == Next::SkipValues) work.skip_values();
  }
  return std::move(work.report);
}

}  // namespace gpuemu
