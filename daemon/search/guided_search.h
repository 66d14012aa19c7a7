// A search that follows coverage: cases that reach something new join the corpus, and cases made
// from it take turns with generated ones. What runs and what comes of it follows from seed,
// configuration, kernel code and the corpus it starts with; not from the number of slots.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/campaign/campaign.h"
#include "daemon/campaign/evidence_tally.h"
#include "daemon/campaign/result_writer.h"
#include "daemon/campaign/silent_reference.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/search/coverage_map.h"
#include "daemon/search/growing_corpus.h"
#include "daemon/search/in_order.h"
#include "judge/cases/case.h"

namespace gpuemu {

struct SearchOptions {
  std::vector<DType> dtypes;  ///< Some of the op's; not empty.
  uint64_t first_case = 0;    ///< Number of the first of `cases`.
  uint64_t cases = 0;         ///< Without the corpus.
  uint64_t seed = 0;
  std::vector<Strategy> strategies;
  bool fail_fast = false;
  bool tells_features = false;  ///< Report what merging several ranges takes.
  bool is_piece = false;        ///< Report evidence as what adding it up takes.
  LaneClaim claim;
};

/// What a search found.
struct SearchOutcome {
  uint64_t total = 0, passed = 0, failed = 0;
  std::vector<ValidationResult> failures;  ///< In order of running; the first ones.
  uint64_t warned = 0;                     ///< Cases that passed with a warning.
  std::vector<ValidationResult> warnings;  ///< The first cases with a warning.
  std::vector<Evidence> evidence;
  SearchReport report;
  uint64_t cases_complete = 0;  ///< All before this one ran, and nothing else is counted.
  bool replayed_all = false;    ///< The corpus that it began with has run.
  uint64_t replays_failed = 0;  ///< Corpus entries that fail today.
  bool counted = false;         ///< The device counts; else no case followed another.
  CorpusEntries corpus;
  std::string broken;              ///< Why cases could not run; "" when all did.
  std::vector<DType> unsupported;  ///< No kernel takes any of their cases.
  bool reference_failed = false;   ///< It answered no case, which `broken` says.
  std::set<std::string> remarks;   ///< CaseReport::remarks of all cases.
};

class GuidedSearch : private CaseSource {
 public:
  using OnCases = std::function<Status(const std::vector<const CaseReport*>&)>;

  /// All must outlive the search. `on_cases` gets every case in order, some at a time, on a thread
  /// of its own; nothing that run() tells was not kept by it.
  GuidedSearch(Campaign& campaign, const OpConfig& op, SearchOptions options, OnCases on_cases);

  /// Entries of other dtypes are left out, those without features run first. Where `cancel` comes,
  /// what was found until the first case that did not run is told.
  Result<SearchOutcome> run(std::vector<CorpusEntry> corpus, const std::atomic<bool>& cancel);

 private:
  struct Ended {
    CasePlan plan;
    Result<CaseReport> outcome = Error{};
    bool is_unplanned = false;  ///< There is no plan: the op's schema does not evaluate.
  };
  struct Counted {
    uint64_t place = 0;
    CasePlan plan;
    CaseReport outcome;
  };

  std::optional<NextCase> next() override;
  std::optional<NextCase> next_now() override;
  uint64_t ready(uint64_t most) const override { return queue_->ready(most); }
  std::optional<NextCase> planned(uint64_t place);
  void ended(NextCase one, Result<CaseReport> outcome) override;

  void begin_with(std::vector<CorpusEntry> corpus);
  uint64_t needed_by(uint64_t place) const;
  uint64_t number_of(uint64_t place) const { return options_.first_case + place - replays_.size(); }
  Result<CasePlan> plan_of(uint64_t number) const;
  /// One place after the other; false: it was the last one.
  bool take(uint64_t place, Ended one);
  /// False: the case did not run, and none after it counts.
  bool take_error(const Ended& one);
  void count(Counted one);
  void note_coverage(uint64_t place, const CasePlan& plan, const CaseReport& outcome);
  void end_place(uint64_t place);
  bool is_over() const;
  SearchOutcome finish();

  Campaign& campaign_;
  const OpConfig& op_;
  const SearchOptions options_;
  std::map<DType, CaseOptions> case_options_;
  std::vector<CasePlan> replays_;
  std::vector<ReproductionInfo> start_;
  const std::atomic<bool>* cancel_ = nullptr;
  GrowingCorpus corpus_;

  // All below: for whoever takes a place, one thread at a time.
  std::map<DType, EvidenceTally> evidence_;
  std::set<DType> ran_, refused_;  ///< Dtypes of cases that ran, and those that no kernel takes.
  CoverageMap map_;
  SearchFeatures features_;
  std::map<uint64_t, ValidationResult> failures_;  ///< By place.
  SearchOutcome outcome_;
  uint64_t taken_ = 0;
  std::optional<Error> error_;  ///< It ends the search.
  SilentReference<Counted> unanswered_;
  ResultWriter<CaseReport> writer_;
  std::unique_ptr<InOrder<Ended>> queue_;
};

}  // namespace gpuemu
