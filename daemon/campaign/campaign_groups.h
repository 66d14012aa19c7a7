// Private to this folder: the cases of a campaign by op and dtype, and their results.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/campaign/campaign.h"
#include "daemon/campaign/evidence_tally.h"
#include "daemon/campaign/silent_reference.h"
#include "daemon/campaign/together_pace.h"
#include "daemon/campaign/variant_choice.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// A case that has been judged and will be stored.
struct Campaign::Finished {
  using Clock = std::chrono::steady_clock;
  Group* group = nullptr;
  CasePlan plan;
  CaseReport outcome;
  Clock::time_point started, ended;
};

/// All cases of one op in one dtype.
struct Campaign::Group {
  using Clock = std::chrono::steady_clock;
  const OpConfig* op = nullptr;
  uint64_t dtype_index = 0;  ///< Index in the op's own list, so that filters do not change
                             ///< iterations.
  uint64_t cases = 0;
  uint64_t planned = 0;  ///< Cases of this run: of its shard, out of its total.
  CaseOptions case_options;
  std::set<std::string> warnings;

  /// Cases that are finished in one way or another, and among them: those that ran, those that hit
  /// their time limit, and those that were left out.
  std::atomic<uint64_t> settled{0}, ran{0}, timed_out{0}, left_out{0};
  /// Whether none of its cases can be made; the other groups go on. Set once, by any thread.
  std::atomic<bool> broken{false};
  std::atomic<bool> started{false};  ///< Its first case has begun.
  TogetherReached reached;
  std::string why_broken;
  /// The reference has answered none of several cases; the storing thread reports it.
  std::atomic<bool> silent{false};

  // All below belongs to the storing thread while the campaign runs.
  OpTestReport report;
  EvidenceTally evidence;
  VariantTally variants;
  SilentReference<Finished> unanswered;
  std::map<uint64_t, ValidationResult> bad, warned;  ///< By iteration.
  std::set<std::string> notes;
  std::optional<Clock::time_point> first;
  Clock::time_point last;

  uint64_t iteration_of(uint64_t number) const {
    return number * std::max<uint64_t>(1, op->dtypes.size()) + dtype_index;
  }

  /// Adds to `ready` the cases to store now. Cases of a reference that has not answered yet are
  /// held back.
  void admit(Finished finished, std::vector<Finished>& ready);
  void record(Finished finished);
  void note_time(const ValidationResult& result);
  /// Returns whether its next case is not worth running.
  bool skips_next();
  void fail(const Error& why);
  OpTestReport finish(EarlyEnd end, bool is_piece);
};

struct Campaign::Item {
  Group* group = nullptr;
  uint64_t number = 0;
};

/// All cases of a run by index. They are computed, because a list could exceed memory.
class Campaign::Items {
 public:
  Items(const std::vector<std::shared_ptr<Group>>& groups, const CampaignOptions& options);
  uint64_t count() const { return count_; }
  /// REQUIRES: index < count().
  Item at(uint64_t index) const;

 private:
  /// Places large cases last: the time that the others take shows whether they are worth running.
  uint64_t place(const Group& group, uint64_t turn) const;

  std::vector<Group*> groups_;  ///< Each has options.cases cases.
  uint64_t first_ = 0, step_ = 1, each_ = 0, begin_ = 0, count_ = 0;
  bool in_turns_ = false;
};

}  // namespace gpuemu
