// A search that follows coverage: cases that reach something new join the corpus, and cases made
// from it take turns with generated ones. What runs follows from seed, configuration, kernel code
// and the corpus it starts with; not from the number of slots.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/campaign/campaign.h"
#include "daemon/campaign/evidence_tally.h"
#include "daemon/campaign/result_writer.h"
#include "daemon/campaign/silent_reference.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/search/coverage_map.h"
#include "judge/cases/case.h"

namespace gpuemu {

struct SearchOptions {
  std::vector<DType> dtypes;  ///< Some of the op's; not empty.
  uint64_t cases = 0;         ///< Generated cases, without the corpus.
  uint64_t seed = 0;
  std::vector<Strategy> strategies;
  bool fail_fast = false;
  LaneClaim claim;
};

/// A case that reached something, and what.
struct CorpusEntry {
  CasePlan plan;
  ValidationResult result;
  std::vector<uint64_t> features;  ///< Sorted.
};

/// The entries that together reach all that `entries` do: small cases first, none that adds
/// nothing, at most `count_max`. In that order.
std::vector<CorpusEntry> smallest_cover(std::vector<CorpusEntry> entries, size_t count_max);

/// Whether the case `number`, the `round`-th of its dtype, is made from the corpus after so many
/// cases that reached nothing new: every other one, fewer once the corpus has grown dry.
bool follows_corpus(uint64_t number, uint64_t round, uint64_t since_growth);
/// The entry that it follows. Newer ones come more often; of two the smaller one is taken: what a
/// case costs grows with its elements, what it may reach hardly does. REQUIRES: there is one.
const CorpusEntry* one_to_follow(const std::vector<const CorpusEntry*>& entries, uint64_t seed,
                                 uint64_t number);

/// What a search found.
struct SearchOutcome {
  uint64_t total = 0, passed = 0, failed = 0;
  std::vector<ValidationResult> failures;  ///< In order of running; the first ones.
  uint64_t warned = 0;                     ///< Cases that passed with a warning.
  std::vector<ValidationResult> warnings;  ///< The first cases with a warning.
  std::vector<Evidence> evidence;
  SearchReport report;
  uint64_t replays_failed = 0;  ///< Corpus entries that fail today.
  bool counted = false;         ///< The device counts; else no case followed another.
  std::vector<CorpusEntry> corpus;
  std::string broken;             ///< Why cases could not run; "" when all did.
  bool reference_failed = false;  ///< It answered no case, which `broken` says.
};

class GuidedSearch {
 public:
  using OnCases = std::function<Status(const std::vector<const CaseReport*>&)>;

  /// All must outlive the search. `on_cases` gets every case in order, some at a time, on a thread
  /// of its own; nothing that run() tells was not kept by it.
  GuidedSearch(Campaign& campaign, const OpConfig& op, SearchOptions options, OnCases on_cases);

  /// `corpus` runs first. What was found until `cancel` came is told.
  Result<SearchOutcome> run(const std::vector<CasePlan>& corpus, const std::atomic<bool>& cancel);

 private:
  Result<CasePlan> plan_of(uint64_t number);
  Status run_batch(const std::vector<CasePlan>& plans, const std::atomic<bool>& cancel);
  Status take(const CasePlan& plan, Result<CaseReport> outcome);
  void count(const CasePlan& plan, CaseReport outcome);
  void note_coverage(const CasePlan& plan, const CaseReport& outcome);
  bool is_over(const std::atomic<bool>& cancel) const;

  Campaign& campaign_;
  const OpConfig& op_;
  const SearchOptions options_;
  std::map<DType, CaseOptions> case_options_;
  std::map<DType, EvidenceTally> evidence_;
  std::map<DType, std::vector<uint64_t>> known_;  ///< Features; dtypes are kernels of their own.
  CoverageMap map_;
  uint64_t grown_at_ = 0;  ///< Cases that had run when the last one joined the corpus.
  std::vector<CorpusEntry> entries_;
  SearchOutcome outcome_;
  struct Ended {
    CasePlan plan;
    CaseReport outcome;
  };
  SilentReference<Ended> unanswered_;
  ResultWriter<CaseReport> writer_;
};

}  // namespace gpuemu
