// Runs the ops with op scripts in a test run.
#include <algorithm>
#include <iterator>

#include "common/protocol/op_state.h"
#include "daemon/campaign/campaign.h"
#include "daemon/server/client_judged_ops.h"

namespace gpuemu {
namespace {

/// Shared by all ops of a run.
struct ScriptTest {
  const CampaignOptions& options;
  const Config& config;
  Call& call;
  JobControl& control;
};

/// Runs the cases of one op in one dtype.
Status test_script_op(const OpConfig& op, const ScriptTest& test, OpTestReport& report,
                      std::vector<ValidationResult>& told) {
  const CampaignOptions& options = test.options;
  JobControl& control = test.control;
  FuzzOpRequest request;
  request.op_name = op.name;
  request.fuzz_config =
      FuzzConfig{.seed = script_seed_of(options.seed, op), .op_schema = std::nullopt};
  request.fuzz_config->dtypes = {report.dtype};
  request.iterations = options.cases;
  request.fail_fast = options.fail_fast;
  request.first_case = options.first_number;
  request.results = options.is_piece;
  const auto start = std::chrono::steady_clock::now();
  const auto stopped = [&control] { return control.cancel.load(); };
  const auto on_case = [&report](const JudgedOutput& one) {
    ++report.cases;
    ++(one.result.passed ? report.passed : report.failed);
    report.max_diff = std::max(report.max_diff, one.result.max_diff);
    report.bound_ratio_max = std::max(report.bound_ratio_max, one.bound_ratio_max);
  };
  Reply reply = fuzz_script_op({op, request, test.config, stopped, on_case}, test.call, control);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  report.duration_ms = static_cast<uint64_t>(took.count() * 1000);
  if (took.count() > 0) report.cases_per_second = static_cast<double>(report.cases) / took.count();
  if (const auto* failure = std::get_if<ErrorReply>(&reply)) {
    // The fault is in the disk or the daemon, not in this op.
    if (failure->code == WireErrorCode::InternalError && !control.cancel) {
      return error(ErrorCode::Internal, "{}", failure->message);
    }
    report.reference_failed = failure->code == WireErrorCode::ReferenceScriptFailed;
    set_op_state(report, OpState::Broken, failure->message);
    return ok_status();
  }
  auto& results = std::get<FuzzResultsReply>(reply);
  report.failures = std::move(results.failures);
  std::ranges::move(results.results, std::back_inserter(told));
  if (options.is_piece) {
    report.not_run = options.cases - report.cases;
  } else if (report.cases < options.cases) {
    tell_not_run(report, options.cases,
                 control.cancel ? EarlyEnd::Cancelled : EarlyEnd::FirstFailure);
  }
  return ok_status();
}

}  // namespace

Status test_script_ops(const CampaignOptions& options, const Config& config, Call& call,
                       JobControl& control, TestReportReply& report) {
  const auto op_of = [&](const OpTestReport& one) -> const OpConfig* {
    const OpConfig* op = config.find_op(one.op_name);
    return op != nullptr && has_op_script(*op) ? op : nullptr;
  };
  for (const OpTestReport& one : report.ops) {
    if (op_of(one) != nullptr) control.total += options.cases;
  }
  for (OpTestReport& one : report.ops) {
    const OpConfig* op = op_of(one);
    if (op == nullptr) continue;
    --report.skipped;
    set_op_state(one, OpState::Ran, "");
    if (options.fail_fast && report.failed > 0) {
      tell_not_run(one, options.cases, EarlyEnd::FirstFailure);
    } else {
      control.op_started(op->name, one.dtype);
      GPUEMU_TRY(test_script_op(*op, {options, config, call, control}, one, report.results));
      control.op_finished(one);
    }
    report.total += one.cases;
    report.passed += one.passed;
    report.failed += one.failed;
    if (one.state != OpState::Ran) ++report.skipped;
  }
  return ok_status();
}

}  // namespace gpuemu
