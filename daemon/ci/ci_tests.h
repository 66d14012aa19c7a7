// Private to this folder: the part of a run that executes ops.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "daemon/campaign/evidence_tally.h"
#include "daemon/campaign/variant_choice.h"
#include "daemon/ci/ci_run.h"
#include "daemon/ci/coverage_gain.h"
#include "daemon/ci/fingerprint.h"
#include "daemon/ci/verdict_cache.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Stored failures of one op that are run again: the newest.
inline constexpr size_t kReplaysMax = 200;
/// Corpus entries of one op: what reached something first, not everything that ran.
inline constexpr size_t kCorpusMax = 64;

/// Passing results in one summary: reports list them, the counts cover all.
inline constexpr size_t kPassingMax = 20'000;

/// One op in one dtype.
struct CiUnit {
  const OpConfig* op = nullptr;
  size_t op_index = 0;
  CiOp report;
  std::optional<std::string> key;  ///< Under which its verdict is kept.
  std::vector<CasePlan> replays;
  CoverageGain gain;
  uint64_t next_number = 0;  ///< The number of the next generated case.
  uint64_t not_run = 0;      ///< Cases of the profile for which no time was left.
  bool regressed = false;    ///< Against the baseline: worse than it was, though it may pass.
  EvidenceTally evidence;
  VariantTally variants;
  std::vector<std::string> notes;          ///< Those of a kept verdict, and about variants.
  std::set<std::string> remarks;           ///< CaseReport::remarks of its cases.
  std::map<std::string, uint64_t> chosen;  ///< Generated cases by the variant that they select.
  std::map<std::string, uint64_t> ran;     ///< All cases by variant.
  /// Stored cases that are generated too, by seed, and whether they have run; and how many of
  /// those ran a second time.
  std::map<uint64_t, bool> twice;
  struct {
    uint64_t cases = 0, passed = 0, failed = 0;
  } surplus;
};

/// A case that is not one of a campaign.
struct PlannedCase {
  CiUnit* unit = nullptr;
  CasePlan plan;
  bool is_stored = false;
};

class CiTests {
 public:
  CiTests(const CiMachine& machine, const CiOptions& options, const CiEvents& events,
          const std::atomic<bool>& cancel);
  ~CiTests();

  /// Adds ops, results, coverage, worst and notes to the summary.
  Status run(CiRunSummary& summary);

 private:
  struct Kept;
  void make_units();
  std::optional<std::string> key_of(const OpConfig& op) const;
  std::string baseline_text(const OpConfig& op) const;
  void take_cached(CiUnit& unit, VerdictCache& cache);
  void run_scripts();
  void run_script_op(CiUnit& unit);
  void list(const CiUnit& unit, uint64_t place, const ValidationResult& result, bool regressed);
  void tell_not_run();
  void tell(const CiUnit& unit);
  void collect_replays();
  Result<std::vector<ValidationResult>> stored_cases(const OpConfig& op);
  void break_units(const OpConfig& op, const std::string& why);
  bool may_be_a_variants(const OpConfig& op, const ReproductionInfo& info) const;
  bool will_be_generated(const OpConfig& op, const ReproductionInfo& info) const;
  Result<CasePlan> plan_of_stored(const OpConfig& op, const ValidationResult& stored);
  void add_replays(const OpConfig& op, const std::vector<ValidationResult>& stored);
  Status run_replays();
  Status run_planned(const std::vector<PlannedCase>& planned);
  Status run_planned_case(const PlannedCase& planned);
  Status run_cases();
  std::vector<CasePlan> variant_plans(const CiUnit& unit, size_t variant) const;
  Status run_variants();
  std::string idle_text(const CiUnit& unit, const std::string& variant) const;
  void tell_idle(CiUnit& unit, const std::string& variant);
  void renew_idle(CiUnit& unit);
  static std::vector<std::string> notes_of(const CiUnit& unit);
  Status grow();
  CampaignOptions campaign_options() const;
  CampaignEvents campaign_events();
  Status keep(const std::vector<const CaseReport*>& outcomes);
  Status keep_corpus(const CiUnit& unit, const CaseReport& outcome);
  bool take_back(CiUnit& unit, const ValidationResult& result);
  void note(const CaseReport& outcome);
  void merge(const TestReportReply& report);
  void keep_verdicts();
  void map_worst(CiRunSummary& summary);
  CiUnit* find(const std::string& op, DType dtype);
  bool is_over() const;

  const CiMachine& machine_;
  const CiOptions& options_;
  const CiEvents& events_;
  const std::atomic<bool>& cancel_;
  std::vector<ValidationResult> baseline_;  ///< In the order of sort_baseline.
  const std::filesystem::file_time_type start_ = std::filesystem::file_time_type::clock::now();
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::vector<std::unique_ptr<CiUnit>> units_;
  std::map<std::string, size_t> corpus_;  ///< Entries per op.
  std::vector<std::string> notes_;

  std::mutex mutex_;
  LineCoverage coverage_;    // Guarded by mutex_.
  std::vector<Kept> kept_;   // Guarded by mutex_.
  size_t passing_kept_ = 0;  // Guarded by mutex_.
  size_t found_ = 0;         // New things of the latest cases. Guarded by mutex_.
};

}  // namespace gpuemu
