// GetCorpus, StoreResults, FinishFuzz and FinishTests: what one daemon does for a run whose cases
// are distributed over several daemons.
#include <iterator>
#include <memory>

#include "common/protocol/wire_errors.h"
#include "daemon/case/reproduction.h"
#include "daemon/explain/failure_reasons.h"
#include "daemon/search/corpus.h"
#include "daemon/search/corpus_turns.h"
#include "daemon/server/handlers.h"
#include "daemon/server/join_reports.h"
#include "daemon/server/project.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

/// Returns the entries to keep, each with its stored result.
Result<CorpusEntries> kept_entries(std::vector<CorpusEntry> found, const OpConfig& op,
                                   Store& store) {
  CorpusEntries entries;
  for (CorpusEntry& one : found) {
    entries.push_back(std::make_shared<const CorpusEntry>(std::move(one)));
  }
  CorpusEntries kept;
  for (const auto& entry : smallest_cover(std::move(entries), kCorpusEntriesMax)) {
    CorpusEntry with_result = *entry;
    auto result = store.result(entry->plan.case_seed, op.name);
    if (!result && result.error().code != ErrorCode::NotFound) return result.error();
    if (result) with_result.result = *std::move(result);
    with_result.result.op_name = op.name;
    with_result.result.seed = entry->plan.case_seed;
    with_result.result.passed = true;
    with_result.result.repro_info = reproduction_of(entry->plan, {});
    kept.push_back(std::make_shared<const CorpusEntry>(std::move(with_result)));
  }
  return kept;
}

/// Stores what the run found, and names both corpora.
Status finish_search(const FinishFuzzRequest& request, const OpConfig& op, Call& call,
                     FuzzFinishedReply& reply) {
  const std::vector<CorpusEntry> start = GPUEMU_TRY(given_corpus(op, request.start));
  std::vector<CorpusEntry> found = GPUEMU_TRY(given_corpus(op, *request.found));
  const CorpusEntries kept = GPUEMU_TRY(kept_entries(std::move(found), op, call.context.store));
  std::vector<ReproductionInfo> started;
  std::set<uint64_t> seeds;
  for (const CorpusEntry& one : start) {
    started.push_back(reproduction_of(one.plan, {}));
    seeds.insert(one.plan.case_seed);
  }
  reply.corpus = kept.size();
  reply.corpus_digest = digest_of(cases_of(kept));
  reply.start_digest = digest_of(started);
  if (!request.keep) return ok_status();
  return call.context.searches->put(call.context.store, op, seeds, kept);
}

Reply finish_fuzz(const FinishFuzzRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call, {request.max_elements, request.strict});
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Config& config = (*project)->config();
  const OpConfig* const op = config.find_op(request.op_name);
  if (op == nullptr) return op_not_found(call, config, request.op_name);
  FuzzFinishedReply reply;
  if (request.found) {
    const Status stored = finish_search(request, *op, call, reply);
    if (!stored) return error_reply(stored.error());
  }
  reply.failures = request.failures;
  reply.warnings = request.warnings;
  reply.evidence = join_evidence(request.evidence, *op);
  for (OpTestReport& one : join_reports(request.reports, config, EarlyEnd::None)) {
    if (one.evidence) reply.evidence.push_back(*std::move(one.evidence));
    std::ranges::move(one.notes, std::back_inserter(reply.notes));
  }
  std::vector<ValidationResult*> told;
  for (auto* list : {&reply.failures, &reply.warnings}) {
    for (ValidationResult& one : *list) told.push_back(&one);
  }
  diagnose(config, (*project)->machines(), told, {call.claim, &control.cancel});
  bound_snapshots(reply.failures);
  bound_snapshots(reply.warnings);
  return reply;
}

Reply finish_tests(const FinishTestsRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call, {request.max_elements, request.strict});
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const EarlyEnd end = request.cancelled ? EarlyEnd::Cancelled : EarlyEnd::FirstFailure;
  TestReportReply report;
  report.seed = request.seed;
  report.ops = join_reports(request.reports, (*project)->config(), end);
  for (const OpTestReport& one : report.ops) {
    report.total += one.cases;
    report.passed += one.passed;
    report.failed += one.failed;
    report.duration_ms += one.duration_ms;
    if (one.state != OpState::Ran) ++report.skipped;
  }
  finish_report(report, !request.cancelled, call, **project, control);
  return report;
}

}  // namespace

Reply handle(const GetCorpusRequest& request, Call& call) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const Config& config = (*project)->config();
  const OpConfig* const op = config.find_op(request.op_name);
  if (op == nullptr) return op_not_found(call, config, request.op_name);
  const auto stored = call.context.store.list_corpus(op->name);
  if (!stored) return error_reply(stored.error());
  CorpusReply reply;
  for (const CasePlan& plan : corpus_plans(*op, *stored)) {
    reply.entries.emplace_back().repro_info = reproduction_of(plan, {});
  }
  return reply;
}

Reply handle(const StoreResultsRequest& request, Call& call) {
  std::vector<ResultToKeep> results;
  for (const ValidationResult& one : request.results) {
    if (one.op_name.empty()) {
      return ErrorReply{
          WireErrorCode::InvalidRequest,
          fmt::format("results[{}] has no op_name, which every stored case has", results.size())};
    }
    results.push_back({one, !one.passed});
  }
  const Status kept = call.context.store.put_results(results);
  if (!kept) return error_reply(kept.error());
  return OkReply{};
}

Reply handle(const FinishFuzzRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return finish_fuzz(request, kept, control);
  });
}

Reply handle(const FinishTestsRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return finish_tests(request, kept, control);
  });
}

}  // namespace gpuemu
