#include "daemon/pipeline/check_relations.h"

#include "daemon/case/case_work.h"
#include "daemon/execution/derived_runs.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

/// Returns whether the relation holds when nothing is rounded; nothing if that cannot be decided.
Result<std::optional<bool>> holds_exactly(const InvariantSpec& spec, CaseWork& work) {
  const NamedTensors& outputs = work.report.extras.shadows->exact_outputs;
  if (outputs.empty()) return std::optional<bool>();
  DerivedRuns exactly(work.request, work.slot, DerivedRuns::Outputs::Exact);
  const auto verdict = exactly.checker_for(outputs).check(spec);
  // A finding in a further run says nothing about the formula.
  if (!verdict && verdict.error().code == ErrorCode::Cancelled) return std::optional<bool>();
  if (!verdict) return verdict.error();
  if (!verdict->checked) return std::optional<bool>();
  return std::optional(!verdict->finding.has_value());
}

}  // namespace

Result<Next> check_relations(CaseWork& work) {
  const CaseRequest& request = work.request;
  std::vector<ValidationFailure>& failures = work.report.result.failures;
  const std::vector<InvariantSpec> relations = relations_of(request.op, request.kernel);
  // A checker generates the inputs again, which takes a tenth of the time of a small case.
  if (!failures.empty() || relations.empty()) return Next::Continue;
  DerivedRuns runs(request, work.slot, DerivedRuns::Outputs::Computed);
  RelationChecker checker = runs.checker_for(work.outputs);
  for (const InvariantSpec& spec : relations) {
    runs.begin(spec);
    auto verdict = checker.check(spec);
    for (ValidationFailure& failure : runs.take_failures()) failures.push_back(std::move(failure));
    if (!verdict && verdict.error().code != ErrorCode::Cancelled) return verdict.error();
    if (verdict && !verdict->checked) continue;
    work.report.relations.emplace_back(name_of(spec.kind));
    if (!verdict || !verdict->finding) continue;
    failures.push_back(*verdict->finding);
    if (!work.wants(Extra::Shadows)) continue;
    const auto holds = GPUEMU_TRY(holds_exactly(spec, work));
    if (holds) {
      work.report.extras.shadows->properties.push_back({*verdict->finding, *holds, {}});
    }
  }
  return Next::Continue;
}

}  // namespace gpuemu
