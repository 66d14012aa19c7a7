// Explain: runs a stored failure again with shadow execution.
#include "common/protocol/wire_errors.h"
#include "daemon/case/reproduction.h"
#include "daemon/explain/case_explanation.h"
#include "daemon/pipeline/describe_verdict.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/server/stored_failure.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

Reply explain(const ExplainRequest& request, const ValidationResult& failure, const OpConfig& op,
              Project& project, Call& call) {
  const auto plan = plan_from(op, *failure.repro_info);
  if (!plan) return error_reply(plan.error());
  auto reply = explain_case({.config = project.config(),
                             .op = op,
                             .plan = *plan,
                             .output = request.output,
                             .index = request.index,
                             .claim = call.claim},
                            project.machines());
  if (!reply) return error_reply(reply.error());
  reply->seed = failure.seed;
  if (reply->verdict != ExplainVerdict::Passes) reply->guess = guess_text(op);
  return *std::move(reply);
}

}  // namespace

Reply handle(const ExplainRequest& request, Call& call) {
  const auto failure = find_failure(call, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  if (request.index && request.output.empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "'index' needs 'output': the name of the tensor that has the element"};
  }
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found(call, (*project)->config(), failure->op_name);
  if (!has_kernel_case(*op, *failure)) return no_kernel_case(*failure, "explained");
  return explain(request, *failure, *op, **project, call);
}

}  // namespace gpuemu
