#include "daemon/execution/exact_runs.h"

#include "daemon/case/reproduction.h"
#include "daemon/execution/derived_runs.h"
#include "daemon/schedule/slot.h"

namespace gpuemu {

Result<NamedTensors> run_exactly(const CaseRequest& request, Slot& slot,
                                 const NamedTensors& inputs) {
  return DerivedRuns(request, slot, DerivedRuns::Outputs::Wide)
      .run({.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

Result<NamedTensors> run_nudged(const CaseRequest& request, Slot& slot, const NamedTensors& inputs,
                                uint64_t draw) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.nudge(draw);
  return runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

Result<NamedTensors> run_with_moved_constants(const CaseRequest& request, Slot& slot,
                                              const NamedTensors& inputs, uint64_t draw) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.move_constants(draw);
  return runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

namespace {
Result<uint64_t> roundings_of(DerivedRuns& runs, const CaseRequest& request) {
  (void)GPUEMU_TRY(runs.run({.plan = request.plan,
                             .inputs = make_inputs(request.op, request.plan),
                             .in_place_input = {},
                             .in_place_output = {}}));
  return runs.close_roundings();
}
}  // namespace

Result<uint64_t> close_roundings(const CaseRequest& request, Slot& slot) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  return roundings_of(runs, request);
}

Result<uint64_t> underflown_roundings(const CaseRequest& request, Slot& slot) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  NamedTensors bounds;
  runs.keep_underflow(bounds);
  const uint64_t roundings = GPUEMU_TRY(roundings_of(runs, request));
  return runs.lost_comparisons() > 0 ? UINT64_MAX : roundings;
}

Result<FusableRun> fusable_roundings(const CaseRequest& request, Slot& slot) {
  FusableRun made;
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  NamedTensors bounds;
  runs.keep_fusable(bounds);
  runs.keep_computed(made.computed);
  made.roundings = GPUEMU_TRY(roundings_of(runs, request));
  return made;
}

Result<NamedTensors> moves_by_fusing(const CaseRequest& request, Slot& slot) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  NamedTensors bounds;
  runs.keep_fusable(bounds);
  (void)GPUEMU_TRY(runs.run({.plan = request.plan,
                             .inputs = make_inputs(request.op, request.plan),
                             .in_place_input = {},
                             .in_place_output = {}}));
  return bounds;
}

Result<ExactRun> run_for_underflow(const CaseRequest& request, Slot& slot,
                                   const NamedTensors& inputs) {
  ExactRun made;
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.keep_underflow(made.underflow);
  runs.keep_computed(made.computed);
  made.values = GPUEMU_TRY(runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}}));
  made.lost_comparison = runs.lost_comparisons() > 0;
  return made;
}

}  // namespace gpuemu
