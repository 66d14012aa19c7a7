// RunCi and GetCiSummary: a project's tests, limits and baseline in one request.
#include <map>

#include "common/base/text.h"
#include "common/codec/json_codec.h"
#include "common/protocol/ci.h"
#include "common/protocol/wire_errors.h"
#include "daemon/ci/ci_run.h"
#include "daemon/executor/plan.h"
#include "daemon/explain/failure_reasons.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "runtime/compile/machine_code.h"

namespace gpuemu {
namespace {

constexpr const char* kSummary = "ci:summary";
constexpr uint64_t kQuickCases = 10, kCases = 50, kThoroughCases = 256;

/// Adds one line per op and dtype with a case that passed with a warning; every report has notes.
void note_warnings(CiRunSummary& summary) {
  struct Warned {
    const ValidationResult* first = nullptr;
    uint64_t cases = 0;
  };
  std::map<std::pair<std::string, DType>, Warned> all;
  for (const ValidationResult& result : summary.validation_results) {
    if (result.warnings.empty() || !result.repro_info) continue;
    Warned& warned = all[{result.op_name, result.repro_info->dtype}];
    if (warned.first == nullptr) warned.first = &result;
    ++warned.cases;
  }
  for (const auto& [op, warned] : all) {
    const ValidationFailure& warning = warned.first->warnings.front();
    summary.notes.push_back(fmt::format("warning: {} {}: {}, the first is {}: {}{}", op.first,
                                        name_of(op.second), counted(warned.cases, "case"),
                                        warned.first->seed, warning.message,
                                        warning.diagnosis ? "; " + warning.diagnosis->note : ""));
  }
}

Status check(const RunCiRequest& request) {
  const bool whole = request.shards == 0 && request.shard == 0;
  if (!whole && (request.shard < 1 || request.shard > request.shards)) {
    return error(ErrorCode::InvalidArgument,
                 "shard {} of {}: expected a number from 1 to the number of shards", request.shard,
                 request.shards);
  }
  return ok_status();
}

uint64_t cases_of(const RunCiRequest& request, const Config& config) {
  if (request.profile == CiProfile::Default) return config.cases;
  if (request.profile == CiProfile::Thorough) return kThoroughCases;
  return request.quick || request.profile == CiProfile::Quick ? kQuickCases : kCases;
}

Status add_baseline(const RunCiRequest& request, Store& store, CiOptions& options) {
  if (!request.baseline) return ok_status();
  options.baseline_name = *request.baseline;
  options.baseline_artifacts = request.baseline_artifacts;
  options.baseline_results = request.baseline_results;
  if (!options.baseline_artifacts.empty() || !options.baseline_results.empty()) return ok_status();
  auto artifacts = store.artifact_baseline(*request.baseline);
  auto results = store.baseline(*request.baseline);
  const auto is_broken = [](const auto& part) {
    return !part && part.error().code != ErrorCode::NotFound;
  };
  // Comparing with half of the baseline would be meaningless.
  if (is_broken(artifacts)) return artifacts.error();
  if (is_broken(results)) return results.error();
  if (!artifacts && !results) return artifacts.error();
  if (artifacts) options.baseline_artifacts = *std::move(artifacts);
  if (results) options.baseline_results = *std::move(results);
  return ok_status();
}

CiOptions options_of(const RunCiRequest& request, const Config& config) {
  CiOptions options;
  const bool quick = request.quick || request.profile == CiProfile::Quick;
  options.profile = request.profile.value_or(quick ? CiProfile::Quick : CiProfile::Default);
  options.cases = cases_of(request, config);
  if (quick) options.dtypes = config.ci_quick_dtypes;
  options.seed = request.seed ? *request.seed : config.seed.value_or(fresh_seed());
  options.budget = std::chrono::milliseconds(request.budget_ms);
  if (options.profile == CiProfile::Thorough) {
    options.limit = std::chrono::seconds(config.ci_thorough_timeout_s);
  }
  options.shard = request.shard;
  options.shards = request.shards;
  options.threads_max = static_cast<uint32_t>(request.parallel_jobs > 0 ? request.parallel_jobs
                                                                        : config.ci_parallel_jobs);
  // A budget is for cases that have not been tried yet, so cached verdicts are not used.
  options.cached = request.cached && request.budget_ms == 0 && !request.coverage;
  options.coverage = request.coverage;
  return options;
}

CiEvents events_of(Call& call, const Config& config, uint64_t seed, JobControl& control) {
  CiEvents events;
  events.more = [&control](uint64_t steps) { control.total += steps; };
  events.step = [&control] { ++control.done; };
  events.failed = [&control](const ValidationResult& one) { control.failed(log_line(one), one); };
  events.op_started = [&control](const OpConfig& op, DType dtype) {
    control.op_started(op.name, dtype);
  };
  events.warn = [&control](const std::string& text) { control.warn(text); };
  events.compiling = [&control](size_t ready, size_t wanted) { control.compiling(ready, wanted); };
  events.run_script_op = [&call, &config, &control,
                          seed](const CiScriptCases& wanted) -> Result<FuzzResultsReply> {
    FuzzOpRequest request;
    request.op_name = wanted.op.name;
    request.fuzz_config =
        FuzzConfig{.seed = script_seed_of(seed, wanted.op), .op_schema = std::nullopt};
    if (!wanted.dtypes.empty()) request.fuzz_config->dtypes = wanted.dtypes;
    request.iterations = wanted.cases;
    const auto stopped = [&] {
      return control.cancel ||
             (wanted.deadline && std::chrono::steady_clock::now() >= *wanted.deadline);
    };
    const auto on_case = [&](const JudgedOutput& one) {
      wanted.on_case(one.result, one.bound_ratio_max);
    };
    const Reply reply =
        fuzz_script_op({wanted.op, request, config, stopped, on_case}, call, control);
    if (const auto* failure = std::get_if<ErrorReply>(&reply)) {
      return error(ErrorCode::Internal, "{}", failure->message);
    }
    return std::get<FuzzResultsReply>(reply);
  };
  return events;
}

/// Removes input snapshots, which can be tens of MiB and are not used by reports.
void drop_snapshots(std::vector<ValidationResult>& results) {
  for (ValidationResult& result : results) {
    if (result.repro_info) result.repro_info->input_snapshot.reset();
  }
}

Reply run(const RunCiRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call, {request.max_elements, request.strict});
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Config& config = (*project)->config();
  const Status sound = check(request);
  if (!sound) return error_reply(sound.error());
  ServerContext& context = call.context;
  CiOptions options = options_of(request, config);
  options.claim = call.claim;
  const Status based = add_baseline(request, context.store, options);
  if (!based) {
    ErrorReply reply = error_reply(based.error());
    if (based.error().code == ErrorCode::NotFound) reply.code = WireErrorCode::BaselineNotFound;
    return reply;
  }
  InspectOptions inspect;
  inspect.archs = {context.arch};
  inspect.cache_folder = context.cache_folder;
  inspect.cancel = &control.cancel;
  const std::string device = context.devices.empty() ? "" : context.devices.front().name;
  std::string identity =
      fmt::format("gpuemu {} {} {} {}", kVersion, context.backend, device, context.arch);
  const std::vector<std::string> missing = missing_machine_code_tools();
  for (const std::string& tool : missing) identity += "\n" + tool;
  auto summary = run_ci({config, (*project)->campaign(), context.store, inspect, identity}, options,
                        events_of(call, config, options.seed, control), control.cancel);
  if (!summary) return error_reply(summary.error());
  std::vector<ValidationResult*> results;
  for (ValidationResult& one : summary->validation_results) results.push_back(&one);
  diagnose(config, (*project)->machines(), results, {call.claim, &control.cancel});
  note_warnings(*summary);
  summary->backend = context.backend;
  summary->device = device;
  summary->execution = execution_now(context.slots);
  summary->notes.insert(summary->notes.end(), missing.begin(), missing.end());
  // Clients of the older form only use the number of failures, and expect snapshots.
  const bool by_count = !request.profile && !request.stream;
  if (request.snapshots || by_count) {
    bound_snapshots(summary->validation_results);
  } else {
    drop_snapshots(summary->validation_results);
  }
  summary->incomplete = control.incomplete();
  const CiRunCompleteReply reply{*std::move(summary)};
  const Status kept = context.store.put_meta(kSummary, encode_reply(reply));
  if (!kept) return error_reply(kept.error());
  if (by_count && control.cancel && reply.summary.failed == 0) {
    return ErrorReply{WireErrorCode::InternalError, control.incomplete()};
  }
  return reply;
}

}  // namespace

Reply handle(const RunCiRequest& request, Call& call) {
  return run_or_start_job(job_options(request), call, [request, call](JobControl& control) mutable {
    return run(request, call, control);
  });
}

Reply handle(const GetCiSummaryRequest&, Call& call) {
  const auto kept = call.context.store.meta(kSummary);
  if (!kept) return error_reply(kept.error());
  if (!*kept) return ErrorReply{WireErrorCode::NotFound, "no CI run yet; `gpuemu ci` makes one"};
  auto reply = decode_reply(**kept);
  if (!reply) return error_reply(reply.error());
  return *std::move(reply);
}

}  // namespace gpuemu
