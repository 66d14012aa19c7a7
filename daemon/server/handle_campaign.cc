// FuzzOp and RunTests: many cases, as a plain answer or as a job.
#include <algorithm>

#include "common/base/limits.h"
#include "daemon/server/client_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/restrict_op.h"

namespace gpuemu {
namespace {

/// Keeps every result before it counts and tells the job how far it is.
CampaignEvents events_of(ServerContext& context, JobControl& control) {
  CampaignEvents events;
  events.on_total = [&control](uint64_t total) { control.total = total; };
  events.on_warning = [&control](const std::string& text) { control.warn(text); };
  events.on_cases = [&context, &control](const std::vector<const CaseOutcome*>& ended) -> Status {
    std::vector<ResultToKeep> results;
    for (const CaseOutcome* one : ended) results.push_back({one->result, !one->result.passed});
    GPUEMU_TRY(context.store.put_results(results));
    for (const ResultToKeep& kept : results) {
      ++control.done;
      if (kept.is_failure) control.failed(log_line(kept.result));
    }
    return ok_status();
  };
  return events;
}

Reply run_tests(const RunTestsRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const Config& config = (*project)->config();
  for (const std::string& name : request.ops) {
    if (config.find_op(name) == nullptr) return op_not_found(config, name);
  }
  CampaignOptions options;
  options.ops = request.ops;
  options.dtypes = request.dtypes;
  options.cases = request.cases > 0 ? request.cases : config.cases;
  options.seed = request.seed ? *request.seed : config.seed.value_or(fresh_seed());
  options.strategies = request.strategies;
  options.fail_fast = request.fail_fast;
  options.session = call.key;
  auto report =
      (*project)->campaign().run(options, events_of(call.context, control), control.cancel);
  if (!report) return error_reply(report.error());
  for (OpTestReport& op : report->ops) bound_snapshots(op.failures);
  report->backend = call.context.backend;
  if (!call.context.devices.empty()) report->device = call.context.devices.front().name;
  return *std::move(report);
}

CampaignOptions fuzz_options(const FuzzOpRequest& request, const Config& config) {
  CampaignOptions options;
  options.ops = {request.op_name};
  options.cases = request.iterations;
  options.fail_fast = request.fail_fast;
  options.seed = config.seed.value_or(fresh_seed());
  if (request.config) {
    options.dtypes = request.config->dtypes;
    options.strategies = request.config->strategies;
    if (request.config->seed) options.seed = *request.config->seed;
  } else if (request.fuzz_config) {
    options.dtypes = request.fuzz_config->dtypes;
    options.seed = request.fuzz_config->seed;
  }
  return options;
}

FuzzResultsReply fuzz_results(const TestReportReply& report) {
  FuzzResultsReply results;
  results.seed = report.seed;
  results.total = report.total;
  results.passed = report.passed;
  results.failed = report.failed;
  for (const OpTestReport& op : report.ops) {
    results.failures.insert(results.failures.end(), op.failures.begin(), op.failures.end());
  }
  // The report is in order of dtype.
  std::ranges::stable_sort(results.failures, {}, [](const ValidationResult& failure) {
    return failure.repro_info ? failure.repro_info->iteration.value_or(0) : 0;
  });
  if (results.failures.size() > kFailuresListedMax) results.failures.resize(kFailuresListedMax);
  bound_snapshots(results.failures);
  return results;
}

Reply fuzz_kernel_op(const OpConfig& op, const FuzzOpRequest& request, Call& call, Project& project,
                     JobControl& control) {
  CampaignOptions options = fuzz_options(request, project.config());
  options.session = call.key;
  // `iterations` counts cases of the op, whatever its dtypes; the campaign counts per dtype.
  const auto tested = [&](DType dtype) {
    return options.dtypes.empty() ||
           std::ranges::find(options.dtypes, dtype) != options.dtypes.end();
  };
  std::vector<DType> dtypes;
  std::ranges::copy_if(op.dtypes, std::back_inserter(dtypes), tested);
  if (dtypes.empty()) dtypes = op.dtypes;
  options.dtypes = dtypes;
  options.cases_total = request.iterations;
  auto report = project.campaign().run(options, events_of(call.context, control), control.cancel);
  if (!report) return error_reply(report.error());
  for (const OpTestReport& one : report->ops) {
    if (one.cases == 0 && one.skipped_reason.starts_with("error: ")) {
      return ErrorReply{WireErrorCode::PtxParseError, one.skipped_reason.substr(7)};
    }
  }
  return fuzz_results(*report);
}

Reply fuzz_op(const FuzzOpRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const OpConfig* op = (*project)->config().find_op(request.op_name);
  if (op == nullptr) return op_not_found((*project)->config(), request.op_name);
  if (request.iterations > kIterationsMax) {
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        fmt::format("iterations is {}, the limit is {}", request.iterations, kIterationsMax)};
  }
  if (op->mode == ExecutionMode::Kernel) {
    if (!request.config) return fuzz_kernel_op(*op, request, call, **project, control);
    auto restricted = restrict_op((*project)->config(), op->name, *request.config);
    if (!restricted) return error_reply(restricted.error());
    Project narrow(std::make_shared<const Config>(*std::move(restricted)), call.context.lanes,
                   call.context.cache_folder, call.context.arch);
    return fuzz_kernel_op(*narrow.config().find_op(op->name), request, call, narrow, control);
  }
  return fuzz_script_op(*op, request, call, (*project)->config(), control);
}

}  // namespace

Reply handle(const RunTestsRequest& request, Call& call) {
  Call kept = call;
  return as_plain_or_job(request.stream, call, [request, kept](JobControl& control) mutable {
    return run_tests(request, kept, control);
  });
}

Reply handle(const FuzzOpRequest& request, Call& call) {
  Call kept = call;
  return as_plain_or_job(request.stream, call, [request, kept](JobControl& control) mutable {
    return fuzz_op(request, kept, control);
  });
}

}  // namespace gpuemu
