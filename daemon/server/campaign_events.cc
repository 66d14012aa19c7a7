#include "daemon/server/campaign_events.h"

#include "common/base/service_limits.h"
#include "common/config/config.h"
#include "daemon/case/case_report.h"
#include "daemon/storage/store.h"

namespace gpuemu {

void ToldResults::add(const ValidationResult& result) {
  ValidationResult& added = all_.emplace_back(result);
  const size_t bytes = snapshot_bytes(added);
  if (snapshot_bytes_ + bytes > kSnapshotReplyBytesMax) {
    added.repro_info->input_snapshot.reset();
  } else {
    snapshot_bytes_ += bytes;
  }
}

CampaignEvents keeping_events(ServerContext& context, JobControl& control, ToldResults* told) {
  CampaignEvents events;
  events.on_total = [&control](uint64_t total) { control.total = total; };
  events.on_warning = [&control](const std::string& text) { control.warn(text); };
  events.on_compiling = [&control](size_t ready, size_t total) { control.compiling(ready, total); };
  events.on_op_started = [&control](const OpConfig& op, DType dtype) {
    control.op_started(op.name, dtype);
  };
  events.on_op_finished = [&control](const OpTestReport& report) { control.op_finished(report); };
  events.on_cases = [&context, &control,
                     told](const std::vector<const CaseReport*>& ended) -> Status {
    std::vector<ResultToKeep> results;
    for (const CaseReport* one : ended) results.push_back({one->result, !one->result.passed});
    GPUEMU_TRY(context.store.put_results(results));
    for (const ResultToKeep& kept : results) {
      ++control.done;
      if (kept.is_failure) control.failed(log_line(kept.result), kept.result);
      if (told != nullptr) told->add(kept.result);
    }
    return ok_status();
  };
  return events;
}

}  // namespace gpuemu
