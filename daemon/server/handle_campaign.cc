// FuzzOp and RunTests: many cases, as a synchronous request or as a job.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/ranges.h>

#include "common/base/limits.h"
#include "common/protocol/op_state.h"
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/executor/plan.h"
#include "daemon/explain/compiler_sensitivity.h"
#include "daemon/explain/failure_reasons.h"
#include "daemon/server/campaign_events.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/server/guided_fuzz.h"
#include "daemon/server/handlers.h"
#include "daemon/server/join_reports.h"
#include "daemon/server/narrow_op.h"
#include "daemon/server/project.h"

namespace gpuemu {
namespace {

bool has_one_of(const OpConfig& op, const std::vector<DType>& wanted) {
  return std::ranges::any_of(
      op.dtypes, [&](DType dtype) { return std::ranges::find(wanted, dtype) != wanted.end(); });
}

std::string names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, " "));
}

Error no_such_dtype(const OpConfig& op, const std::vector<DType>& wanted) {
  return error(ErrorCode::InvalidArgument, "op '{}' has none of the dtypes {}; it has: {}", op.name,
               names_of(wanted), names_of(op.dtypes));
}

/// Refuses a filter that leaves nothing of an op, because the run would look like a success.
Status check(const RunTestsRequest& request, const Config& config) {
  if (request.dtypes.empty()) return ok_status();
  bool any = false;
  for (const OpConfig& op : config.ops) {
    const bool named = std::ranges::find(request.ops, op.name) != request.ops.end();
    const bool has = has_one_of(op, request.dtypes);
    if (named && !has) return no_such_dtype(op, request.dtypes);
    any = any || has;
  }
  if (any || config.ops.empty()) return ok_status();
  return error(ErrorCode::InvalidArgument, "no op has one of the dtypes {}; '{}' has: {}",
               names_of(request.dtypes), config.ops.front().name,
               names_of(config.ops.front().dtypes));
}

Reply run_tests(const RunTestsRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call, {request.max_elements, request.strict});
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Config& config = (*project)->config();
  for (const std::string& name : request.ops) {
    if (config.find_op(name) == nullptr) return op_not_found(call, config, name);
  }
  const Status sound = check(request, config);
  if (!sound) return error_reply(sound.error());
  CampaignOptions options;
  options.ops = request.ops;
  options.dtypes = request.dtypes;
  options.cases = request.cases > 0 ? request.cases : config.cases;
  options.seed = request.seed ? *request.seed : config.seed.value_or(fresh_seed());
  auto strategies = parse_strategies(request.strategies);
  if (!strategies) return error_reply(strategies.error());
  options.strategies = *std::move(strategies);
  options.fail_fast = request.fail_fast;
  options.claim = call.claim;
  options.settings.extras.add(Extra::Evidence);
  options.first_number = request.first_case;
  options.is_piece = request.results;
  ToldResults told;
  CampaignEvents events = keeping_events(call.context, control, request.results ? &told : nullptr);
  std::set<std::pair<std::string, uint64_t>> passed;
  events.on_cases =
      [&, keep = events.on_cases](const std::vector<const CaseReport*>& ended) -> Status {
    for (const CaseReport* one : ended) {
      if (request.fragile && one->result.passed) {
        passed.emplace(one->result.op_name, one->result.seed);
      }
    }
    return keep(ended);
  };
  auto report = (*project)->campaign().run(options, events, control.cancel);
  if (!report) return error_reply(report.error());
  const Status scripts = test_script_ops(options, config, call, control, *report);
  if (!scripts) return error_reply(scripts.error());
  if (request.fragile) {
    const Status looked = find_compiler_sensitive(
        {config, options, std::move(passed), call.context.backend,
         [&](const SlotVariant& variant) { return (*project)->campaign_on(variant); }},
        control.cancel, *report);
    if (!looked) return error_reply(looked.error());
  }
  if (request.results) {
    std::ranges::move(told.take(), std::back_inserter(report->results));
    return *std::move(report);
  }
  finish_report(*report, options.cases > 0, call, **project, control);
  return *std::move(report);
}

Result<CampaignOptions> fuzz_options(const FuzzOpRequest& request, const Config& config) {
  CampaignOptions options;
  options.ops = {request.op_name};
  options.cases = request.iterations;
  options.fail_fast = request.fail_fast;
  options.settings.extras.add(Extra::Evidence);
  options.seed = config.seed.value_or(fresh_seed());
  if (request.config) {
    options.dtypes = request.config->dtypes;
    options.strategies = GPUEMU_TRY(parse_strategies(request.config->strategies));
    if (request.config->seed) options.seed = *request.config->seed;
  } else if (request.fuzz_config) {
    options.dtypes = request.fuzz_config->dtypes;
    options.seed = request.fuzz_config->seed;
  }
  return options;
}

/// Returns the dtypes that could not be run and why; "" if all could.
std::string broken_dtypes(const TestReportReply& report) {
  std::string broken;
  for (const OpTestReport& one : report.ops) {
    if (one.state != OpState::Broken) continue;
    broken +=
        fmt::format("{}{}: {}", broken.empty() ? "" : "\n", name_of(one.dtype), op_reason(one));
  }
  return broken;
}

FuzzResultsReply fuzz_results(const TestReportReply& report) {
  FuzzResultsReply results;
  results.seed = report.seed;
  results.total = report.total;
  results.passed = report.passed;
  results.failed = report.failed;
  results.error = broken_dtypes(report);
  for (const OpTestReport& op : report.ops) {
    results.failures.insert(results.failures.end(), op.failures.begin(), op.failures.end());
    results.warned += op.warned;
    results.warnings.insert(results.warnings.end(), op.warnings.begin(), op.warnings.end());
    if (op.evidence) results.evidence.push_back(*op.evidence);
    if (op.state == OpState::NoVariantFits) {
      results.notes.push_back(unsupported_note(op.dtype));
    }
    for (const std::string& note : op.notes) results.notes.push_back(note);
  }
  // The report is in the order of the dtypes; clients expect the order of the cases.
  std::ranges::stable_sort(results.failures, {}, [](const ValidationResult& failure) {
    return failure.repro_info ? failure.repro_info->iteration.value_or(0) : 0;
  });
  if (results.failures.size() > kFailuresListedMax) results.failures.resize(kFailuresListedMax);
  if (results.warnings.size() > kWarningsListedMax) results.warnings.resize(kWarningsListedMax);
  return results;
}

/// Replaces fields that FinishFuzz sums up, so that the sums are not made twice.
void add_pieces(TestReportReply report, FuzzResultsReply& results) {
  results.evidence.clear();
  results.notes.clear();
  results.reports = std::move(report.ops);
  for (OpTestReport& piece : results.reports) {
    piece.failures.clear();
    piece.warnings.clear();
  }
}

void diagnose_all(FuzzResultsReply& results, const Call& call, Project& project,
                  const JobControl& control) {
  std::vector<ValidationResult*> all;
  for (auto* told : {&results.failures, &results.warnings}) {
    for (ValidationResult& one : *told) all.push_back(&one);
  }
  diagnose(project.config(), project.machines(), all, {call.claim, &control.cancel});
  bound_snapshots(results.failures);
  bound_snapshots(results.warnings);
}

Reply fuzz_kernel_op(const OpConfig& op, const FuzzOpRequest& request, Call& call, Project& project,
                     JobControl& control) {
  auto wanted = fuzz_options(request, project.config());
  if (!wanted) return error_reply(wanted.error());
  CampaignOptions options = *std::move(wanted);
  options.claim = call.claim;
  // `iterations` counts cases of the op over all dtypes; the campaign counts per dtype.
  const auto tested = [&](DType dtype) {
    return options.dtypes.empty() ||
           std::ranges::find(options.dtypes, dtype) != options.dtypes.end();
  };
  std::vector<DType> dtypes;
  std::ranges::copy_if(op.dtypes, std::back_inserter(dtypes), tested);
  // Published clients send these two when their user names no dtype.
  const bool named = std::set(options.dtypes.begin(), options.dtypes.end()) !=
                     std::set{DType::Float32, DType::Float16};
  if (dtypes.empty() && (request.config || named)) {
    return error_reply(no_such_dtype(op, options.dtypes));
  }
  if (dtypes.empty()) dtypes = op.dtypes;
  if (request.fuzz_config) {
    control.warn(
        fmt::format("'{}' has kernels: its sizes and layouts come from gpuemu.toml, not "
                    "from fuzz_config.shape_options and layouts",
                    op.name));
  }
  options.dtypes = dtypes;
  options.cases_total = request.iterations;
  options.is_piece = request.results;
  options.first_case = request.first_case.value_or(0);
  if (request.guided) {
    Reply reply = guided_fuzz({op, options, request, project}, call, control);
    auto* const results = std::get_if<FuzzResultsReply>(&reply);
    if (results != nullptr && !request.results) diagnose_all(*results, call, project, control);
    return reply;
  }
  ToldResults told;
  const auto events = keeping_events(call.context, control, request.results ? &told : nullptr);
  auto report = project.campaign().run(options, events, control.cancel);
  if (!report) return error_reply(report.error());
  for (const OpTestReport& one : report->ops) {
    if (one.state != OpState::Broken) continue;
    // Clients of the older form cannot handle results together with an error.
    if (report->total == 0 || (one.cases == 0 && request.fuzz_config)) {
      return ErrorReply{one.reference_failed ? WireErrorCode::ReferenceScriptFailed
                                             : WireErrorCode::PtxParseError,
                        op_reason(one)};
    }
  }
  FuzzResultsReply results = fuzz_results(*report);
  if (request.results) {
    add_pieces(*std::move(report), results);
    results.results = told.take();
  } else {
    diagnose_all(results, call, project, control);
  }
  return results;
}

/// Returns whether no case of the op ran, which would otherwise count as a pass. A request for a
/// range of cases is exempt: cases of other ranges may have run.
bool ran_nothing(const FuzzOpRequest& request, const FuzzResultsReply& results,
                 const JobControl& control) {
  return results.total == 0 && results.error.empty() && request.iterations > 0 &&
         !request.results && !request.first_case && !control.cancel;
}

/// Refuses a range or a corpus without effect.
Status check(const FuzzOpRequest& request) {
  if (request.first_case && !request.config) {
    return error(ErrorCode::InvalidArgument,
                 "first_case is {}, but only cases of `config` have numbers; send config, not "
                 "fuzz_config",
                 *request.first_case);
  }
  if (request.corpus && !request.guided) {
    return error(ErrorCode::InvalidArgument,
                 "corpus has {} entries, but only a guided run follows any; send guided = true",
                 request.corpus->size());
  }
  return ok_status();
}

Reply fuzz_op(const FuzzOpRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call, {request.max_elements, request.strict});
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Status sound = check(request);
  if (!sound) return error_reply(sound.error());
  const OpConfig* op = (*project)->config().find_op(request.op_name);
  if (op == nullptr) return op_not_found(call, (*project)->config(), request.op_name);
  if (op->mode == ExecutionMode::Kernel) {
    if (!request.config) return fuzz_kernel_op(*op, request, call, **project, control);
    auto restricted = narrow_op((*project)->config(), op->name, *request.config);
    if (!restricted) return error_reply(restricted.error());
    Project narrow(std::make_shared<const Config>(*std::move(restricted)),
                   {call.context.slots, call.context.extra_slots}, call.context.store,
                   call.context.cache_folder, call.context.arch);
    narrow.stop_when(control.cancel);
    return fuzz_kernel_op(*narrow.config().find_op(op->name), request, call, narrow, control);
  }
  control.total = request.iterations;
  const auto stopped = [&control] { return control.cancel.load(); };
  return fuzz_script_op({*op, request, (*project)->config(), stopped, {}}, call, control);
}

}  // namespace

Reply handle(const RunTestsRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return run_tests(request, kept, control);
  });
}

Reply handle(const FuzzOpRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    Reply reply = fuzz_op(request, kept, control);
    const auto* results = std::get_if<FuzzResultsReply>(&reply);
    if (results != nullptr && ran_nothing(request, *results, control)) {
      reply = ErrorReply{
          WireErrorCode::InvalidRequest,
          fmt::format("op '{}': {}{}", request.op_name, kUnsupported, kUnsupportedRemedy)};
      return reply;
    }
    // Clients of the older form only use the number of failures.
    if (request.fuzz_config && control.cancel && results != nullptr && results->failed == 0) {
      reply = ErrorReply{WireErrorCode::InternalError, control.incomplete()};
    }
    return reply;
  });
}

}  // namespace gpuemu
