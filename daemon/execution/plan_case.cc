#include "daemon/execution/plan_case.h"

#include <algorithm>

#include "common/config/kernel_config.h"
#include "daemon/case/case_work.h"
#include "daemon/schedule/slot.h"
#include "judge/relations/derived_case.h"
#include "runtime/profile/reach_set.h"

namespace gpuemu {
namespace {

// Every n-th case of an op runs after a warmup run (ExecutionPlan::warmup), starting with the
// second: a kernel that keeps state between launches does so in all cases. Without a reference,
// every case has a warmup run.
constexpr uint64_t kWarmupEvery = 4, kWarmupFirst = 1;

Status fill_arena(const CaseRequest& request, const BuiltPlan& built, Arena& arena) {
  GPUEMU_TRY(arena.grow(built.result_offset + 1));
  for (size_t index = 0; index < request.plan.inputs.size(); ++index) {
    const CaseTensor& input = request.plan.inputs[index];
    const auto planned = std::ranges::find(built.plan.tensors, input.name, &PlanTensor::name);
    const uint64_t bytes = packed_bytes(input.dtype, input.shape);
    fill_input(request.op, request.plan, index,
               GPUEMU_TRY(arena.range(planned->arena_offset, bytes)));
    if (!built.plan.warmup) continue;
    fill_input(request.op, other_case(request.plan), index,
               GPUEMU_TRY(arena.range(planned->warmup_offset, bytes)));
  }
  return ok_status();
}

/// Returns whether any launch gets an input; without one, other inputs give the same outputs.
bool launches_take_inputs(const CaseRequest& request) {
  return std::ranges::any_of(request.kernel.launches, [&](const LaunchSpec& launch) {
    return std::ranges::any_of(launch.args, [&](const LaunchSpec::Arg& arg) {
      return arg.kind == LaunchSpec::Arg::Kind::Tensor &&
             std::ranges::find(request.plan.inputs, arg.tensor, &CaseTensor::name) !=
                 request.plan.inputs.end();
    });
  });
}

bool needs_warmup(const CaseRequest& request) {
  if (request.plan.inputs.empty()) return false;
  if (!request.op.reference.empty() && !launches_take_inputs(request)) return false;
  const uint64_t row = request.plan.iteration / std::max<size_t>(1, request.op.dtypes.size());
  return request.op.reference.empty() || row % kWarmupEvery == kWarmupFirst;
}

}  // namespace

Result<Next> make_plan(CaseWork& work) {
  const CaseRequest& request = work.request;
  auto built =
      build_plan(request.config, request.kernel, request.prepared, request.op, request.plan);
  if (!built) return built.error();
  ExecutionPlan& plan = built->plan;
  plan.profile = work.wants(Extra::LineProfile);
  if (needs_warmup(request)) add_warmup(*built);
  plan.coverage_lines = work.wants(Extra::CoverageLines);
  plan.coverage = work.wants(Extra::Coverage) || plan.coverage_lines;
  if (request.settings.known_reached) plan.known_reached = request.settings.known_reached->bytes();
  plan.first_order = request.settings.order;
  if (work.wants(Extra::Shadows)) plan_shadow(request.settings.shadow, *built);
  GPUEMU_TRY(fill_arena(request, *built, work.slot.arena));
  work.built = *std::move(built);
  return Next::Continue;
}

}  // namespace gpuemu
