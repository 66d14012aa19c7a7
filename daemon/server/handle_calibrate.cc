// Calibrate: measures the errors of a kernel in passing cases, and derives a tolerance that
// encloses them.
#include <algorithm>
#include <cmath>

#include "common/protocol/op_state.h"
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/server/campaign_events.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"

namespace gpuemu {
namespace {

constexpr uint64_t kCalibrationCases = 256;
/// Factor for errors of a correct kernel beyond the observed ones, with other inputs or another
/// compiler.
constexpr double kMargin = 2;

/// The errors in the passing cases of one dtype.
struct Measured {
  ErrorRange envelope;
  std::map<std::string, CalibrationRow> rows;
  uint64_t cases = 0, left_out = 0;
};
using MeasuredByDType = std::map<DType, Measured>;

void measure(const CaseReport& outcome, MeasuredByDType& measured) {
  const auto& info = outcome.result.repro_info;
  if (!info) return;
  Measured& of = measured[info->dtype];
  if (!outcome.result.passed) {
    ++of.left_out;
    return;
  }
  ++of.cases;
  of.envelope.merge(outcome.extras.error_range);
  CalibrationRow& row = of.rows[info->value_strategy];
  row.value_strategy = info->value_strategy;
  ++row.cases;
  row.bound_use = std::max(row.bound_use, outcome.bound_ratio_max);
  if (!outcome.result.error_stats) return;
  const ErrorStats& stats = *outcome.result.error_stats;
  // Equal infinities count as an infinite error in the statistics, but are no error.
  if (std::isfinite(stats.max_abs)) row.max_abs = std::max(row.max_abs, stats.max_abs);
  if (std::isfinite(stats.max_rel)) row.max_rel = std::max(row.max_rel, stats.max_rel);
  if (stats.max_ulp != UINT64_MAX) row.max_ulp = std::max(row.max_ulp, stats.max_ulp);
}

CalibratedDType summary_of(const OpTestReport& report, const MeasuredByDType& measured) {
  CalibratedDType made;
  made.dtype = report.dtype;
  set_op_state(made, report.state, op_reason(report));
  const auto found = measured.find(report.dtype);
  if (found == measured.end()) return made;
  const Measured& of = found->second;
  made.cases = of.cases;
  made.left_out = of.left_out;
  const EnclosingTolerance tolerance = enclose(of.envelope, kMargin);
  made.atol = tolerance.atol;
  made.rtol = tolerance.rtol;
  made.is_exact = of.cases > 0 && tolerance.atol == 0 && tolerance.rtol == 0;
  for (const auto& [name, row] : of.rows) made.rows.push_back(row);
  if (of.cases > 0 && of.envelope.elements == 0 && made.state == OpState::Ran) {
    set_op_state(made, OpState::Skipped, "its outputs hold no finite floating-point numbers");
  }
  return made;
}

Reply calibrate(const CalibrateRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Config& config = (*project)->config();
  const OpConfig* op = config.find_op(request.op_name);
  if (op == nullptr) return op_not_found(call, config, request.op_name);
  if (op->mode != ExecutionMode::Kernel) {
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        fmt::format("op '{}' runs in the client and has no kernel to measure", op->name)};
  }
  CampaignOptions options;
  options.ops = {op->name};
  options.dtypes = request.dtypes;
  options.cases = request.cases > 0 ? request.cases : kCalibrationCases;
  options.seed = request.seed ? *request.seed : config.seed.value_or(fresh_seed());
  options.claim = call.claim;
  options.settings.extras = {Extra::ErrorRange, Extra::Reproduction};
  MeasuredByDType measured;
  CampaignEvents events = keeping_events(call.context, control);
  const auto keep = events.on_cases;
  events.on_cases = [&](const std::vector<const CaseReport*>& ended) {
    for (const CaseReport* one : ended) measure(*one, measured);
    return keep(ended);
  };
  const auto report = (*project)->campaign().run(options, events, control.cancel);
  if (!report) return error_reply(report.error());
  CalibrationReply reply;
  reply.op_name = op->name;
  reply.seed = options.seed;
  reply.backend = call.context.backend;
  if (!call.context.devices.empty()) reply.device = call.context.devices.front().name;
  for (const OpTestReport& one : report->ops) {
    if (!one.kernel.empty()) reply.kernel = one.kernel;
    reply.dtypes.push_back(summary_of(one, measured));
  }
  return reply;
}

}  // namespace

Reply handle(const CalibrateRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return calibrate(request, kept, control);
  });
}

}  // namespace gpuemu
