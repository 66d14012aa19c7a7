#include "daemon/execution/stale_output_check.h"

#include <algorithm>

#include "daemon/case/case_work.h"
#include "daemon/execution/device_findings.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/schedule/slot.h"

namespace gpuemu {
namespace {

bool is_wrong_value(const ValidationFailure& failure) {
  return failure.kind == FindingKind::ToleranceExceeded ||
         failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected;
}

/// Copies the outputs of the plan in the order in which the arena holds them.
Result<std::vector<std::vector<std::byte>>> outputs_in(const BuiltPlan& built, Arena& arena) {
  std::vector<std::vector<std::byte>> all;
  for (const PlanTensor& tensor : built.plan.tensors) {
    const uint64_t bytes = is_written(tensor) ? packed_bytes(tensor.dtype, tensor.shape) : 0;
    const auto from = GPUEMU_TRY(arena.range(tensor.output_offset, bytes));
    all.emplace_back(from.begin(), from.end());
  }
  return all;
}

/// Returns whether the kernel, newly loaded, gives this output as well. The arena is left
/// unchanged.
Result<bool> gives_it_afresh(CaseWork& work, const std::string& output) {
  const BuiltPlan& built = work.built;
  const PreparedKernel& kernel = work.request.prepared;
  Slot& slot = work.slot;
  const auto before = GPUEMU_TRY(outputs_in(built, slot.arena));
  ExecutionPlan plan = built.plan;
  plan.runs = 1;
  plan.warmup = plan.profile = plan.coverage = false;
  plan.fresh_module = true;
  plan.sanitize.clear();
  const Status begun = slot.worker.begin(kernel.key, kernel.name, kernel.ptx, plan);
  const auto report = begun ? slot.worker.finish() : Result<ExecutionReport>(begun.error());
  // If a further run fails, that says nothing about the first.
  if (!report) return false;
  GPUEMU_TRY(slot.arena.refresh());
  const auto after = GPUEMU_TRY(outputs_in(built, slot.arena));
  bool same = report->device.empty();
  for (size_t i = 0; i < before.size(); ++i) {
    const PlanTensor& tensor = built.plan.tensors[i];
    if (tensor.name == output) same = same && before[i] == after[i];
    const auto to = GPUEMU_TRY(slot.arena.range(tensor.output_offset, before[i].size()));
    std::ranges::copy(before[i], to.begin());
  }
  return same;
}

/// If an output has wrong values that are those of the previous launch, the case runs once more
/// with the kernel newly loaded. If it gives the same values without any previous launch, the
/// finding of wrong values says so. Otherwise a finding before them says that the kernel keeps
/// results.
Status name_stale_outputs(const ExecutionReport& report, CaseWork& work) {
  std::vector<ValidationFailure>& failures = work.report.result.failures;
  const auto wrong = std::ranges::find_if(failures, is_wrong_value);
  if (wrong == failures.end()) return ok_status();
  const auto stale = stale_output(report, wrong->output);
  if (!stale) return ok_status();
  if (!GPUEMU_TRY(gives_it_afresh(work, wrong->output))) {
    failures.insert(wrong, *stale);
    return ok_status();
  }
  wrong->message += fmt::format(
      "; '{}' is the same for other inputs: what the kernel writes there does not depend on them",
      wrong->output);
  return ok_status();
}

}  // namespace

Result<Next> check_repeatability(CaseWork& work) {
  if (!work.execution.kernel) return Next::Continue;
  const ExecutionReport& report = *work.execution.kernel;
  std::vector<ValidationFailure>& failures = work.report.result.failures;
  GPUEMU_TRY(name_stale_outputs(report, work));
  explain_values(failures, report);
  for (ValidationFailure& failure : findings_after_values(report)) {
    failures.push_back(std::move(failure));
  }
  return Next::Continue;
}

}  // namespace gpuemu
