// ExportCase: returns a stored failure with everything that a standalone program needs to run it.
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/server/stored_failure.h"
#include "judge/cases/case.h"

namespace gpuemu {

Reply handle(const ExportCaseRequest& request, Call& call) {
  auto failure = find_failure(call, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found(call, (*project)->config(), failure->op_name);
  if (!has_kernel_case(*op, *failure)) return no_kernel_case(*failure, "exported");
  const auto plan = plan_from(*op, *failure->repro_info);
  if (!plan) return error_reply(plan.error());
  auto outcome = (*project)->campaign().run_one(
      *op, *plan, {.extras = {Extra::Tensors, Extra::Export}}, call.claim);
  if (!outcome) return error_reply(outcome.error());
  ExportedCaseReply reply = *std::move(outcome->extras.exported);
  if (reply.expected.empty()) {
    const auto& failures = outcome->result.failures;
    return ErrorReply{WireErrorCode::ReferenceScriptFailed,
                      fmt::format("the reference of '{}' gives nothing to compare with: {}",
                                  op->name, failures.empty() ? "" : failures.front().message)};
  }
  reply.result = *std::move(failure);
  reply.version = GPUEMU_VERSION;
  reply.arch = call.context.arch;
  // Keeps the initial values of outputs, which reply.inputs already holds.
  reply.inputs.merge(outcome->extras.tensors->inputs);
  return reply;
}

}  // namespace gpuemu
