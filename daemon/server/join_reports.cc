#include "daemon/server/join_reports.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "common/base/limits.h"
#include "common/protocol/op_state.h"
#include "daemon/campaign/evidence_tally.h"
#include "daemon/explain/failure_reasons.h"
#include "daemon/pipeline/describe_verdict.h"
#include "daemon/server/project.h"

namespace gpuemu {
namespace {

/// The reports of one op and dtype.
struct Joined {
  OpTestReport report;
  EvidenceTally evidence;
  std::set<std::string> notes;
};

void append(std::vector<ValidationResult> more, size_t most, std::vector<ValidationResult>& all) {
  std::ranges::move(more, std::back_inserter(all));
  if (all.size() > most) all.resize(most);
}

void add_counts(const std::map<std::string, uint64_t>& more, std::map<std::string, uint64_t>& all) {
  for (const auto& [name, count] : more) all[name] += count;
}

void add(OpTestReport piece, Joined& joined) {
  OpTestReport& sum = joined.report;
  sum.cases += piece.cases;
  sum.passed += piece.passed;
  sum.failed += piece.failed;
  sum.not_run += piece.not_run;
  sum.warned += piece.warned;
  sum.duration_ms += piece.duration_ms;
  sum.max_diff = std::max(sum.max_diff, piece.max_diff);
  sum.bound_ratio_max = std::max(sum.bound_ratio_max, piece.bound_ratio_max);
  if (sum.kernel.empty()) sum.kernel = piece.kernel;
  add_counts(piece.strategies, sum.strategies);
  add_counts(piece.relations, sum.relations);
  append(std::move(piece.failures), kFailuresListedMax, sum.failures);
  append(std::move(piece.warnings), kWarningsListedMax, sum.warnings);
  joined.notes.insert(piece.notes.begin(), piece.notes.end());
  if (piece.evidence && piece.evidence->counts) joined.evidence.add(*piece.evidence->counts);
  sum.reference_failed = sum.reference_failed || piece.reference_failed;
  // The first broken piece gives the reason. A piece in which no kernel accepted a case says
  // nothing about the others.
  const bool is_worse = piece.state == OpState::Broken && sum.state != OpState::Broken;
  if (is_worse) set_op_state(sum, OpState::Broken, op_reason(piece));
  if (piece.state == OpState::RunsInClient) {
    set_op_state(sum, piece.state, op_reason(piece));
  }
}

void finish(Joined& joined, const Config& config, const OpConfig& op, EarlyEnd end) {
  OpTestReport& report = joined.report;
  report.notes.assign(joined.notes.begin(), joined.notes.end());
  report.evidence = joined.evidence.evidence(report.dtype, op.dims);
  if (report.duration_ms > 0) {
    report.cases_per_second =
        static_cast<double>(report.cases) * 1000 / static_cast<double>(report.duration_ms);
  }
  if (report.not_run > 0 && report.state == OpState::Ran) {
    tell_not_run(report, report.cases + report.not_run, end);
  }
  describe_verdict(config, op, report);
  if (report.cases == 0 && report.state == OpState::Ran) {
    set_op_state(report, OpState::NoVariantFits, kUnsupported);
  }
}

/// A dtype that no kernel accepts may be missing, but an op of which nothing ran is a mistake: the
/// run would always pass.
void blame_ops_without_cases(std::vector<OpTestReport>& reports) {
  std::set<std::string> ran;
  for (const OpTestReport& one : reports) {
    if (one.state != OpState::NoVariantFits) ran.insert(one.op_name);
  }
  for (OpTestReport& one : reports) {
    if (ran.contains(one.op_name)) continue;
    set_op_state(one, OpState::Broken, fmt::format("{}{}", kUnsupported, kUnsupportedRemedy));
  }
}

}  // namespace

std::vector<OpTestReport> join_reports(std::vector<OpTestReport> pieces, const Config& config,
                                       EarlyEnd end) {
  std::vector<OpTestReport> reports;
  for (const OpConfig& op : config.ops) {
    for (const DType dtype : op.dtypes) {
      Joined joined;
      bool is_there = false;
      for (OpTestReport& piece : pieces) {
        if (piece.op_name != op.name || piece.dtype != dtype) continue;
        is_there = true;
        add(std::move(piece), joined);
      }
      if (!is_there) continue;
      joined.report.op_name = op.name;
      joined.report.dtype = dtype;
      finish(joined, config, op, end);
      reports.push_back(std::move(joined.report));
    }
  }
  return reports;
}

std::vector<Evidence> join_evidence(const std::vector<Evidence>& pieces, const OpConfig& op) {
  std::vector<Evidence> all;
  for (const DType dtype : op.dtypes) {
    EvidenceTally tally;
    for (const Evidence& piece : pieces) {
      if (piece.dtype == dtype && piece.counts) tally.add(*piece.counts);
    }
    if (auto evidence = tally.evidence(dtype, op.dims)) all.push_back(*std::move(evidence));
  }
  return all;
}

std::string unsupported_note(DType dtype) {
  return fmt::format("{}: {}", name_of(dtype), kUnsupported);
}

void finish_report(TestReportReply& report, bool wants_cases, Call& call, Project& project,
                   const JobControl& control) {
  if (wants_cases && !control.cancel) blame_ops_without_cases(report.ops);
  std::vector<ValidationResult*> told;
  for (OpTestReport& op : report.ops) {
    for (ValidationResult& failure : op.failures) told.push_back(&failure);
  }
  for (OpTestReport& op : report.ops) {
    for (ValidationResult& warned : op.warnings) told.push_back(&warned);
  }
  diagnose(project.config(), project.machines(), told, {call.claim, &control.cancel});
  for (OpTestReport& op : report.ops) {
    bound_snapshots(op.failures);
    bound_snapshots(op.warnings);
  }
  report.backend = call.context.backend;
  if (!call.context.devices.empty()) report.device = call.context.devices.front().name;
}

}  // namespace gpuemu
