// Reproduce and GetCase: regenerate a stored failure from its seed.
#include "common/codec/json_codec.h"
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"
#include "daemon/pipeline/describe_verdict.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/server/stored_failure.h"
#include "daemon/storage/store.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

/// Runs a failure of a generated kernel case again with the current configuration.
Reply rerun_kernel_case(const ValidationResult& failure, const OpConfig& op, Project& project,
                        const ReproduceRequest& request, Call& call) {
  const auto plan = plan_from(op, *failure.repro_info);
  if (!plan) return error_reply(plan.error());
  CaseSettings settings{.extras = Extra::Tensors};
  if (request.profile) settings.extras.add(Extra::LineProfile);
  if (request.details) settings.extras.add(Extra::ErrorMap);
  if (request.details) settings.extras.add(Extra::Code);
  auto outcome = project.campaign().run_one(op, *plan, settings, call.claim);
  if (!outcome) return error_reply(outcome.error());
  outcome->result.seed = failure.seed;
  const std::string guess = outcome->result.passed ? "" : guess_text(op);
  // Lists of failures then show whether it passes now.
  if (const Status kept = call.context.store.put_result(outcome->result, false); !kept) {
    return error_reply(kept.error());
  }
  ReproduceResultReply reply{.result = std::move(outcome->result),
                             .inputs = std::move(outcome->extras.tensors->inputs),
                             .profile = std::move(outcome->extras.lines),
                             .printed = std::move(outcome->printed),
                             .rerun = true,
                             .error_map = std::move(outcome->extras.error_map),
                             .guess = guess};
  if (reply.error_map) {
    reply.error_map->op_name = op.name;
    reply.error_map->seed = failure.seed;
  }
  if (outcome->extras.code) {
    reply.ptx = std::move(outcome->extras.code->ptx);
    reply.launches = std::move(outcome->extras.code->launches);
  }
  return reply;
}

Reply reproduce(const ReproduceRequest& request, Call& call, JobControl& control) {
  control.total = 1;
  auto failure = find_failure(call, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  if (failure->repro_info && !failure->repro_info->program_folder.empty()) {
    // The client runs the folder: a program's ops are not in gpuemu.toml.
    return ReproduceResultReply{.result = *std::move(failure), .rerun = false};
  }
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op != nullptr && has_kernel_case(*op, *failure)) {
    return rerun_kernel_case(*failure, *op, **project, request, call);
  }
  auto inputs = stored_inputs(*failure);
  if (!inputs) return error_reply(inputs.error());
  if (op != nullptr && op->mode == ExecutionMode::ScriptBased && !op->op_script.empty()) {
    auto lease = call.context.slots.acquire(call.claim);
    if (!lease) return error_reply(lease.error());
    auto judged = judge_script((*project)->config(), *op, *inputs, {}, **lease);
    if (!judged) return error_reply(judged.error());
    ValidationResult again = std::move(judged->result);
    again.seed = failure->seed;
    again.repro_info = failure->repro_info;
    ValidationResult small = again;
    if (small.repro_info) small.repro_info->input_snapshot.reset();
    if (const Status kept = call.context.store.put_result(small, false); !kept) {
      return error_reply(kept.error());
    }
    return ReproduceResultReply{
        .result = std::move(again), .inputs = *std::move(inputs), .rerun = true};
  }
  // A client ran it, or its op is gone from gpuemu.toml, so it cannot be run here.
  return ReproduceResultReply{
      .result = *std::move(failure), .inputs = *std::move(inputs), .rerun = false};
}

}  // namespace

Reply handle(const ReproduceRequest& request, Call& call) {
  return run_or_start_job(job_options(request), call, [request, call](JobControl& control) mutable {
    return reproduce(request, call, control);
  });
}

Reply handle(const GetCaseRequest& request, Call& call) {
  const auto failure = find_failure(call, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found(call, (*project)->config(), failure->op_name);
  if (!failure->repro_info || !failure->repro_info->base_seed) {
    auto inputs = stored_inputs(*failure);
    if (!inputs) return error_reply(inputs.error());
    return CaseReply{encode_result(*failure), *std::move(inputs)};
  }
  const auto plan = plan_from(*op, *failure->repro_info);
  if (!plan) return error_reply(plan.error());
  return CaseReply{encode_result(*failure), make_inputs(*op, *plan)};
}

}  // namespace gpuemu
