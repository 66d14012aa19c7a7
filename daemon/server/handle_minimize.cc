// Minimize: the smallest case of the same op that fails in the same way; every trial runs the
// kernel.
#include <algorithm>

#include "daemon/minimize/minimize.h"
#include "daemon/server/client_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/stored_failure.h"

namespace gpuemu {
namespace {

/// Runs smaller cases of one failure and remembers the last that failed in the same way.
class Trials {
 public:
  Trials(const OpConfig& op, CasePlan plan, Project& project, Call& call, JobControl& control)
      : op_(op), plan_(std::move(plan)), project_(project), call_(call), control_(control) {}

  /// The kind of the case's failure; nothing when it passes or cannot be made.
  std::optional<std::string> run(const CasePlan& plan) {
    ++control_.done;
    auto outcome = project_.campaign().run_one(op_, plan, {}, call_.key);
    if (!outcome || outcome->result.passed) return std::nullopt;
    ++control_.failures;
    return name_of(outcome->result.failures.front().kind);
  }
  std::optional<std::string> run_choice(const CaseChoice& choice) {
    const auto smaller = with_choice(choice);
    return smaller ? run(*smaller) : std::nullopt;
  }
  Result<CasePlan> with_choice(const CaseChoice& choice) const {
    CasePlan simpler = plan_;
    simpler.value_strategy = choice.values.strategy;
    simpler.value_scale = choice.values.scale;
    return with_dims(op_, simpler, choice.dims);
  }
  const CasePlan& plan() const { return plan_; }
  void accept(CasePlan plan) { plan_ = std::move(plan); }

 private:
  const OpConfig& op_;
  CasePlan plan_;
  Project& project_;
  Call& call_;
  JobControl& control_;
};

Dims lower_bounds(const OpConfig& op) {
  Dims lower;
  for (const DimSpec& dim : op.dims) {
    if (!dim.values.empty()) lower[dim.name] = *std::ranges::min_element(dim.values);
  }
  return lower;
}

/// The dims that may have listed sizes only.
std::map<std::string, std::vector<int64_t>> listed_sizes(const OpConfig& op) {
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const DimSpec& dim : op.dims) {
    if (!dim.is_set) continue;
    sizes[dim.name] = dim.values;
    std::ranges::sort(sizes[dim.name]);
  }
  return sizes;
}

/// Seeds of minimized cases are derived, so that they never stand for the original.
uint64_t minimized_seed_of(uint64_t seed, const CasePlan& plan) {
  std::string label;
  for (const auto& [name, value] : plan.dims) label += fmt::format("{}={},", name, value);
  label += fmt::format("{}*{}", plan.value_strategy, plan.value_scale);
  return case_seed_of(seed, 0, label);
}

Shape representative(const CasePlan& plan) {
  return plan.outputs.empty() ? Shape{} : plan.outputs.front().shape;
}

struct Smallest {
  CasePlan plan;
  uint64_t trials = 0;
};

/// Stores the smaller case as a failure of its own and fills the reply.
Reply finish(const OpConfig& op, const ValidationResult& original, const Smallest& found,
             Project& project, Call& call) {
  const CasePlan start = *plan_from(op, *original.repro_info);
  const CasePlan& smallest = found.plan;
  const bool smaller = smallest.dims != start.dims ||
                       smallest.value_strategy != start.value_strategy ||
                       smallest.value_scale != start.value_scale;
  auto outcome = project.campaign().run_one(op, smallest, {}, call.key);
  if (!outcome) return error_reply(outcome.error());
  MinimizeResultReply reply;
  reply.original_seed = original.seed;
  reply.minimized_seed = smaller ? minimized_seed_of(original.seed, smallest) : original.seed;
  reply.original_shape = representative(start);
  reply.minimized_shape = representative(smallest);
  reply.original_dims = start.dims;
  reply.minimized_dims = smallest.dims;
  reply.trials = found.trials;
  reply.result = std::move(outcome->result);
  reply.result.seed = reply.minimized_seed;
  if (reply.result.repro_info) reply.result.repro_info->seed = reply.minimized_seed;
  if (smaller) {
    const Status kept = call.context.store.put_result(reply.result, !reply.result.passed);
    if (!kept) return error_reply(kept.error());
  }
  return reply;
}

Reply minimize(const MinimizeRequest& request, Call& call, JobControl& control) {
  const auto failure = find_failure(call.context.store, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found((*project)->config(), failure->op_name);
  if (op->mode == ExecutionMode::ScriptBased && !op->op_script.empty() && failure->repro_info &&
      failure->repro_info->fuzz_config) {
    const auto inputs = stored_inputs(*failure);
    if (!inputs) return error_reply(inputs.error());
    return minimize_script_case({(*project)->config(), *op, *failure, *inputs}, request, call,
                                control);
  }
  if (op->mode != ExecutionMode::Kernel || !failure->repro_info ||
      !failure->repro_info->base_seed) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("the failure {} of '{}' was submitted by a client; the daemon "
                                  "has no kernel to run smaller cases with",
                                  failure->seed, failure->op_name)};
  }
  const auto plan = plan_from(*op, *failure->repro_info);
  if (!plan) return error_reply(plan.error());
  Trials trials(*op, *plan, **project, call, control);
  control.total = request.max_iters;
  const auto kind = trials.run(*plan);
  if (!kind) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("the case {} of '{}' passes now; there is nothing to minimize",
                                  failure->seed, failure->op_name)};
  }
  CaseSearch search{.lower = lower_bounds(*op), .sizes = listed_sizes(*op)};
  search.change_dims = request.strategy == MinimizeStrategy::BinarySearchDims;
  search.trials_max = request.max_iters;
  search.cancelled = [&control] { return control.cancel.load(); };
  const CaseMinimum minimum = minimize_case(
      {plan->dims, {plan->value_strategy, plan->value_scale}}, *kind,
      [&](const CaseChoice& choice) { return trials.run_choice(choice); }, search);
  auto smallest = trials.with_choice(minimum.choice);
  if (!smallest) return error_reply(smallest.error());
  trials.accept(*std::move(smallest));
  return finish(*op, *failure, {trials.plan(), minimum.trials}, **project, call);
}

}  // namespace

Reply handle(const MinimizeRequest& request, Call& call) {
  Call kept = call;
  const JobTable::Work work = [request, kept](JobControl& control) mutable {
    return minimize(request, kept, control);
  };
  return as_plain_or_job(request.stream, call, work);
}

}  // namespace gpuemu
