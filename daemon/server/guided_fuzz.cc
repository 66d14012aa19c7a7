#include "daemon/server/guided_fuzz.h"

#include <set>
#include <utility>

#include "common/protocol/wire_errors.h"
#include "daemon/campaign/campaign.h"
#include "daemon/search/corpus.h"
#include "daemon/search/guided_search.h"
#include "daemon/server/campaign_events.h"
#include "daemon/server/join_reports.h"
#include "daemon/server/project.h"

namespace gpuemu {
namespace {

/// The initial corpus of the search, and the turn that allows storing the final one; null if the
/// request supplies the corpus.
struct Start {
  std::vector<CorpusEntry> entries;
  std::unique_ptr<CorpusTurns::Turn> turn;
};

Result<Start> start_of(const GuidedFuzz& asked, Call& call, const JobControl& control) {
  Start start;
  if (asked.request.corpus) {
    start.entries = GPUEMU_TRY(given_corpus(asked.op, *asked.request.corpus));
    return start;
  }
  start.turn =
      GPUEMU_TRY(call.context.searches->begin(call.context.store, asked.op.name, control.job));
  for (CasePlan& plan : corpus_plans(asked.op, start.turn->start())) {
    CorpusEntry& entry = start.entries.emplace_back();
    entry.plan = std::move(plan);
  }
  return start;
}

bool is_one_of(const std::vector<DType>& dtypes, DType dtype) {
  return std::ranges::find(dtypes, dtype) != dtypes.end();
}

/// Stores the corpus, unless entries that did not run, or fail today, would be lost.
Status keep_corpus(const GuidedFuzz& asked, const SearchOutcome& found, Start& start) {
  // A run of some of the dtypes has seen only some entries.
  const bool saw_all = found.replayed_all && asked.options.dtypes == asked.op.dtypes;
  if (start.turn == nullptr || !found.counted || !saw_all || found.replays_failed > 0) {
    return ok_status();
  }
  return start.turn->keep(found.corpus);
}

FuzzResultsReply results_of(SearchOutcome found, const GuidedFuzz& asked,
                            const JobControl& control) {
  FuzzResultsReply results;
  results.seed = asked.options.seed;
  results.total = found.total;
  results.passed = found.passed;
  results.failed = found.failed;
  results.failures = std::move(found.failures);
  results.warned = found.warned;
  results.warnings = std::move(found.warnings);
  results.evidence = std::move(found.evidence);
  results.error = found.broken;
  if (control.cancel && results.error.empty()) results.error = control.incomplete();
  if (found.cases_complete < *asked.options.cases_total) {
    results.cases_complete = found.cases_complete;
  }
  if (found.counted) results.search = std::move(found.report);
  // Another range of the run may have cases that a kernel takes.
  if (!asked.request.results) {
    for (const DType dtype : found.unsupported) results.notes.push_back(unsupported_note(dtype));
  }
  results.notes.insert(results.notes.end(), found.remarks.begin(), found.remarks.end());
  Campaign& campaign = asked.project.campaign();
  std::set<std::string> warnings;
  for (const DType dtype : asked.options.dtypes) {
    for (const std::string& text : campaign.sizes_not_run(asked.op, dtype)) {
      results.notes.push_back("warning: " + text);
    }
    for (std::string& text : campaign.compiler_warnings(asked.op, dtype)) {
      warnings.insert("warning: " + std::move(text));
    }
  }
  results.notes.insert(results.notes.end(), warnings.begin(), warnings.end());
  return results;
}

}  // namespace

Reply guided_fuzz(const GuidedFuzz& asked, Call& call, JobControl& control) {
  const CampaignOptions& options = asked.options;
  Campaign& campaign = asked.project.campaign();
  auto start = start_of(asked, call, control);
  if (!start) return error_reply(start.error());
  const auto& strategies =
      options.strategies.empty() ? asked.project.config().strategies : options.strategies;
  ToldResults told;
  ToldResults* const wanted = asked.request.results ? &told : nullptr;
  GuidedSearch guided(campaign, asked.op,
                      {.dtypes = options.dtypes,
                       .first_case = options.first_case,
                       .cases = *options.cases_total,
                       .seed = options.seed,
                       .strategies = strategies,
                       .fail_fast = options.fail_fast,
                       .tells_features = asked.request.first_case || asked.request.corpus,
                       .is_piece = asked.request.results,
                       .claim = options.claim},
                      keeping_events(call.context, control, wanted).on_cases);
  for (const DType dtype : options.dtypes) {
    for (const std::string& text : campaign.sizes_not_run(asked.op, dtype)) {
      control.warn(fmt::format("{}: {}", asked.op.name, text));
    }
  }
  control.total = *options.cases_total;
  for (const CorpusEntry& entry : start->entries) {
    if (entry.features.empty() && is_one_of(options.dtypes, entry.plan.dtype)) ++control.total;
  }
  auto found = guided.run(std::move(start->entries), control.cancel);
  if (!found) return error_reply(found.error());
  if (found->total == 0 && !found->broken.empty()) {
    return ErrorReply{found->reference_failed ? WireErrorCode::ReferenceScriptFailed
                                              : WireErrorCode::PtxParseError,
                      found->broken};
  }
  const Status kept = keep_corpus(asked, *found, *start);
  if (!kept) return error_reply(kept.error());
  for (const DType dtype : options.dtypes) {
    for (const std::string& text : campaign.sizes_left_out(asked.op, dtype)) {
      control.warn(fmt::format("{}: {}", asked.op.name, text));
    }
  }
  FuzzResultsReply results = results_of(*std::move(found), asked, control);
  results.results = told.take();
  return results;
}

}  // namespace gpuemu
