// Runs many cases of many ops on the slots: the work behind `gpuemu test` and `gpuemu fuzz`. Cases
// are generated, executed and judged on one thread more than there are slots, so that one always
// waits for a lane. Another thread stores them, so that no slot waits for the disk. The report
// lists failures in order of iteration.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/config/vocabulary.h"
#include "daemon/campaign/large_cases.h"
#include "daemon/campaign/variant_choice.h"
#include "daemon/case/case_settings.h"
#include "daemon/schedule/lane_claim.h"
#include "judge/cases/case.h"

namespace gpuemu {

class ExtraSlots;
class KernelStore;
class ReferenceFiles;
class HeldLane;
class SlotLease;
class SlotPool;
class TogetherPace;
struct CaseReport;
struct Config;
struct Constants;
struct KernelConfig;
struct LargeSizes;
struct OpConfig;
struct OpTestReport;
struct Slot;
struct TestReportReply;

/// The reason of OpState::NoVariantFits.
inline constexpr const char* kUnsupported = "no kernel supports any of its cases";
/// The reason of OpState::RunsInClient.
inline constexpr const char* kRunsInClient =
    "runs in the client: no kernel for the daemon to execute";
inline constexpr const char* kUnsupportedRemedy = ": look at `supports` and the dims";

/// The most warned cases of an op and dtype that a report lists.
inline constexpr size_t kWarningsListedMax = 4;

struct CampaignOptions {
  std::vector<std::string> ops;  ///< Empty: every op that has a kernel.
  std::vector<DType> dtypes;     ///< Restricts the dtypes that each op declares.
  uint64_t cases = 64;           ///< Per op and dtype.
  std::optional<uint64_t>
      cases_total;          ///< Instead: cases over all dtypes together, in iteration order.
  uint64_t first_case = 0;  ///< With cases_total: the number of the first of them.
  uint64_t seed = 0;
  std::vector<Strategy> strategies;  ///< Empty: those of the configuration.
  bool fail_fast = false;
  LaneClaim claim;                                   ///< The session that the cases run for.
  std::set<std::pair<std::string, DType>> left_out;  ///< Ops and dtypes that are not run.
  bool prefer_dtypes = false;  ///< An op without any of `dtypes` runs in its first one.
  uint64_t first_number = 0;  ///< Cases of each op and dtype to leave out: the first `first_number`
                              ///< have run already.
  uint64_t shard = 0, shards = 0;  ///< Only the part with this number, from 1; 0: all.
  uint32_t threads_max = 0;        ///< 0: one per slot.
  /// No case begins after this time. Cases of all ops and dtypes then take turns, so that each gets
  /// some.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  CaseSettings settings;  ///< How each case runs.
  /// The report will be added to others: it has the counts only, without the remarks about them.
  bool is_piece = false;
};

/// Why a run ended before all its cases had run.
enum class EarlyEnd { None, Cancelled, FirstFailure, Late };

/// Notes in the report of one op that only `report.cases` of `planned` cases ran. Nothing is known
/// of the others, so without a failure there is no verdict.
void tell_not_run(OpTestReport& report, uint64_t planned, EarlyEnd end);

/// Returns whether number `index` belongs to part `shard` of `shards` (counted from 1); always true
/// when shards is 0. Every index belongs to exactly one part.
inline bool is_in_shard(uint64_t index, uint64_t shard, uint64_t shards) {
  return shards == 0 || index % shards == shard - 1;
}

/// Callbacks for the progress of a campaign. The first two must be set.
struct CampaignEvents {
  /// Gets every case, in no particular order; cases that ended in the meantime come together.
  /// Returns once their results are stored. Called by one thread at a time.
  std::function<Status(const std::vector<const CaseReport*>&)> on_cases;
  /// Gets the number of cases to come, before the first one; fewer run when the campaign is
  /// cancelled or runs out of time.
  std::function<void(uint64_t total)> on_total;
  /// Gets each warning for the author of the kernels once, before the first case.
  std::function<void(const std::string& text)> on_warning;
  /// Gets how many kernels are compiled, out of how many; called before all other callbacks.
  std::function<void(size_t ready, size_t total)> on_compiling = {};
  /// Called by any thread before the first case of an op in a dtype.
  std::function<void(const OpConfig& op, DType dtype)> on_op_started = {};
  /// Called when the last case of an op is stored; the final report of the campaign may add to it.
  /// Not called if some cases came to no result.
  std::function<void(const OpTestReport& counts)> on_op_finished = {};
};

/// A source of cases that are planned one by one while others run. Used by many threads at once.
class CaseSource {
 public:
  struct NextCase {
    uint64_t place = 0;
    CasePlan plan;
    CaseSettings settings;
  };
  virtual ~CaseSource() = default;
  /// Waits until another case may begin; nothing when there are no more.
  virtual std::optional<NextCase> next() = 0;
  /// Like next(), but returns nothing where next() would wait.
  virtual std::optional<NextCase> next_now() = 0;
  /// Returns how many cases next_now() would give to all threads together, at most `most`.
  virtual uint64_t ready(uint64_t most) const = 0;
  /// Called once for each case.
  virtual void ended(NextCase one, Result<CaseReport> outcome) = 0;
};

struct CampaignSlots {
  SlotPool& own;
  ExtraSlots* side = nullptr;  ///< Provides an emulator slot when `own` belong to a GPU.
};

class Campaign {
 public:
  /// All arguments must outlive the campaign. `backend` decides the sizes of generated cases. Slots
  /// other than the daemon's own run the same cases. `memory` may be empty.
  Campaign(const Config& config, KernelStore& kernels, CampaignSlots slots, std::string backend,
           VariantMemory memory)
      : config_(config),
        kernels_(kernels),
        slots_(slots.own),
        side_(slots.side),
        backend_(std::move(backend)),
        variants_(config, kernels, std::move(memory),
                  [this](const OpConfig& op, DType dtype) { return case_options(op, dtype); }) {}

  /// Runs the selected cases. Names in options.ops that are no op are skipped, because the caller
  /// has checked them. `cancel` ends the run between cases; what was found until then is reported.
  Result<TestReportReply> run(const CampaignOptions& options, const CampaignEvents& events,
                              const std::atomic<bool>& cancel);

  /// Runs cases of one op in parallel, about `cases` in all, until the source is exhausted.
  void run_cases(const OpConfig& op, CaseSource& source, uint64_t cases, const LaneClaim& claim);

  /// Returns the files that reference scripts read in all cases so far.
  const ReferenceFiles& reference_files() const;

  /// Returns the constants that the kernels of the op compare sizes with in this dtype. Empty if
  /// they do not compile.
  Constants constants_of(const OpConfig& op, DType dtype);

  /// Returns the options from which cases of the op in this dtype are generated. Empty
  /// `strategies`: those of the configuration.
  CaseOptions case_options(const OpConfig& op, DType dtype,
                           const std::vector<Strategy>& strategies = {});
  /// Returns the large sizes of the op's cases, without compiling anything.
  LargeSizes large_sizes_of(const OpConfig& op, DType dtype) const;
  /// Describes for the user the declared sizes that no case has, and the large cases that were left
  /// out so far.
  std::vector<std::string> sizes_not_run(const OpConfig& op, DType dtype) const;
  /// Describes only the large cases that were left out; plans do not show them.
  std::vector<std::string> sizes_left_out(const OpConfig& op, DType dtype) const;
  /// What another compiler refuses of the op's kernels, with their sources; for people.
  std::vector<std::string> compiler_warnings(const OpConfig& op, DType dtype);

  /// Runs one case of one op; VariantChoice chooses the variant. `lane` holds the lane of the
  /// claim's previous case on this thread on entry, and that of this case on return.
  Result<CaseReport> run_one(const OpConfig& op, const CasePlan& plan, const CaseSettings& settings,
                             const LaneClaim& claim, HeldLane* lane = nullptr);

  /// A case for run_together(); its members must outlive the call.
  struct Wanted {
    const OpConfig* op = nullptr;
    const CasePlan* plan = nullptr;
    const CaseSettings* settings = nullptr;
    uint64_t device_bytes = 0;  ///< Set by may_run_together().

    void moved_to(const CasePlan& its_plan, const CaseSettings& its_settings) {
      plan = &its_plan;
      settings = &its_settings;
    }
  };
  using Outcomes = std::vector<Result<CaseReport>>;
  /// Returns whether cases like this one are worth handing to a slot together: small ones, of a
  /// session whose memory is not limited.
  bool may_run_together(Wanted& one, const LaneClaim& claim) const;
  /// Returns whether the cases are enough for one batch, so that no other should join them.
  static bool is_full_batch(const std::vector<Wanted>& cases);
  /// Runs cases of which each may_run_together(), on one slot whose processes get all of them at
  /// once; at most SlotPool::places_per_slot() cases. Outcomes and `lane` as for run_one().
  Outcomes run_together(const std::vector<Wanted>& cases, const LaneClaim& claim, HeldLane* lane);

 private:
  struct Group;
  struct Item;
  class Items;
  struct Finished;
  class Progress;
  struct Selected;
  std::vector<Selected> select(const CampaignOptions& options) const;
  void compile(const std::vector<Selected>& all, const CampaignEvents& events);
  Result<std::shared_ptr<Group>> make_group(const OpConfig& op, DType dtype,
                                            const CampaignOptions& options);
  uint64_t device_bytes(const OpConfig& op, const CasePlan& plan) const;
  /// Returns, for a case on `slot`, a slot of an emulator that does not fuse, if the campaign's own
  /// slots have no shadows or may fuse; otherwise empty.
  std::function<Result<SlotLease>()> unfused_slot(const LaneClaim& claim, Slot& slot) const;
  Result<CaseReport> run_large(const OpConfig& op, const CasePlan& plan,
                               const CaseSettings& settings, const LaneClaim& claim);
  struct OnSlot;
  Result<std::unique_ptr<OnSlot>> put_on_slot(const Wanted& one, Slot& slot,
                                              const LaneClaim& claim);
  Result<CaseReport> run_on_slot(const OpConfig& op, const CasePlan& plan, Slot& slot,
                                 const CaseSettings& settings, const LaneClaim& claim);
  std::optional<Finished> plan_next(Progress& progress, const CampaignOptions& options);
  bool take_outcome(Finished one, Result<CaseReport> outcome, Progress& progress,
                    const CampaignOptions& options, HeldLane& lane);
  uint64_t cases_together(const TogetherPace& pace, const Progress& progress,
                          const LaneClaim& claim) const;
  void run_items(Progress& progress, const CampaignOptions& options);
  Status run_and_keep(Progress& progress, const CampaignOptions& options);

  const Config& config_;
  KernelStore& kernels_;
  SlotPool& slots_;
  ExtraSlots* const side_;
  const std::string backend_;
  VariantChoice variants_;
  LargeCases large_;
};

}  // namespace gpuemu
