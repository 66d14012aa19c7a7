// Explain: a stored failure again with shadow execution, twice: once to find the element that is
// wrong, once to follow its history.
#include <algorithm>

#include "daemon/engine/explain.h"
#include "daemon/server/handlers.h"
#include "daemon/server/stored_failure.h"

namespace gpuemu {
namespace {

/// The output to explain: the one that was asked for, else the first with a wrong element among
/// those that failed. What nan_policy lets pass is none of them.
const ComparedShadow* choose(const CaseOutcome& outcome, const std::string& name) {
  const auto& failures = outcome.result.failures;
  for (const ComparedShadow& one : outcome.shadows) {
    const bool failed =
        std::ranges::find(failures, one.counts.name, &ValidationFailure::output) != failures.end();
    if (name.empty() ? failed && one.worst.has_value() : one.counts.name == name) return &one;
  }
  return nullptr;
}

/// Why no element can be explained: what went wrong was no value, or nothing went wrong.
Reply without_element(const CaseOutcome& outcome, ExplainResultReply reply) {
  reply.verdict = outcome.result.passed ? "passes" : "unknown";
  if (outcome.result.passed) {
    reply.sentences = {"The case passes now: no output differs from its reference."};
  } else {
    reply.sentences = {fmt::format("No value of a float output is wrong; the finding is {}: {}",
                                   name_of(outcome.result.failures.front().kind),
                                   outcome.result.failures.front().message)};
  }
  return reply;
}

void take_element(const WrongElement& element, const std::string& output,
                  ExplainResultReply& reply) {
  reply.output = output;
  reply.index = element.index;
  reply.computed = element.computed;
  reply.exact = element.exact;
  reply.reference = element.reference;
  reply.tolerance = element.tolerance;
  reply.bound = element.bound;
}

void take_history(const ExecutionShadow& history, ExplainResultReply& reply) {
  if (!history.origin.empty()) reply.divergence = explained(history.origin.front());
  for (const ShadowStep& step : history.slice) reply.slice.push_back(explained(step));
  reply.other_decisions = history.other_decisions;
  if (!history.other_decision.empty())
    reply.first_other_decision = explained(history.other_decision.front());
  reply.complete = history.complete;
}

Reply explain(const ExplainRequest& request, const ValidationResult& failure, const OpConfig& op,
              Project& project, Call& call) {
  const auto plan = plan_from(op, *failure.repro_info);
  if (!plan) return error_reply(plan.error());
  ShadowWish wish{.wanted = true, .output = request.output, .element = request.index.value_or(-1)};
  const auto first = project.campaign().run_one(op, *plan, {.shadow = wish}, call.key);
  if (!first) return error_reply(first.error());
  ExplainResultReply reply{.seed = failure.seed, .op_name = op.name, .kernel = first->kernel};
  for (const ComparedShadow& one : first->shadows) reply.outputs.push_back(one.counts);
  const ComparedShadow* output = choose(*first, request.output);
  if (output == nullptr) {
    if (!request.output.empty())
      return ErrorReply{WireErrorCode::InvalidRequest,
                        fmt::format("'{}' is no float output of '{}'", request.output, op.name)};
    return without_element(*first, std::move(reply));
  }
  const auto& element = request.index ? output->chosen : output->worst;
  if (!element && request.index)
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("output '{}' has {} elements; there is none with index {}",
                                  output->counts.name, output->counts.elements, *request.index)};
  if (!element) return without_element(*first, std::move(reply));
  WrongElement explained_element = *element;
  take_element(*element, output->counts.name, reply);
  wish = {true, output->counts.name, element->index, element->block};
  const auto second = project.campaign().run_one(op, *plan, {.shadow = wish}, call.key);
  if (!second) return error_reply(second.error());
  explained_element.verdict = with_history(explained_element, second->shadow);
  reply.verdict = name_of(explained_element.verdict);
  take_history(second->shadow, reply);
  const auto planned = std::ranges::find(plan->outputs, output->counts.name, &CaseTensor::name);
  const DType dtype = planned == plan->outputs.end() ? plan->dtype : planned->dtype;
  reply.sentences = sentences_of(explained_element, reply.output, dtype, second->shadow);
  return reply;
}

}  // namespace

Reply handle(const ExplainRequest& request, Call& call) {
  const auto failure = find_failure(call.context.store, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  if (request.index && request.output.empty())
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "'index' needs 'output': the name of the tensor that has the element"};
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found((*project)->config(), failure->op_name);
  if (op->mode != ExecutionMode::Kernel || !failure->repro_info ||
      !failure->repro_info->base_seed) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("the failure {} of '{}' was submitted by a client; the daemon "
                                  "has no kernel to explain it with",
                                  failure->seed, failure->op_name)};
  }
  return explain(request, *failure, *op, **project, call);
}

}  // namespace gpuemu
