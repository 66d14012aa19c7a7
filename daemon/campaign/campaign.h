// Many cases of many ops over the slots: what `gpuemu test` and `gpuemu fuzz` run. Cases are made,
// executed and judged on one thread more than there are slots, so that one always waits for a lane,
// and kept by another, so that no slot waits for the disk; the report has failures in order of
// iteration.
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

/// Warned cases of an op and dtype that a report lists.
inline constexpr size_t kWarningsListedMax = 4;

struct CampaignOptions {
  std::vector<std::string> ops;  ///< Empty: every op with a kernel.
  std::vector<DType> dtypes;     ///< Restricts the ops' own.
  uint64_t cases = 64;           ///< Per op and dtype.
  std::optional<uint64_t>
      cases_total;          ///< Instead: cases over all dtypes together, in iteration order.
  uint64_t first_case = 0;  ///< With cases_total: the number of the first of them.
  uint64_t seed = 0;
  std::vector<Strategy> strategies;  ///< Empty: the configuration's.
  bool fail_fast = false;
  LaneClaim claim;                                   ///< For whom the cases run.
  std::set<std::pair<std::string, DType>> left_out;  ///< Ops and dtypes that do not run.
  bool prefer_dtypes = false;  ///< An op without any of `dtypes` runs in its first one.
  uint64_t first_number = 0;  ///< Cases of each op and dtype to leave out: the first `first_number`
                              ///< have run already.
  uint64_t shard = 0, shards = 0;  ///< Only the part with this number, from 1; 0: all.
  uint32_t threads_max = 0;        ///< 0: one per slot.
  /// No case begins later. Cases of all ops and dtypes then take turns, so that each gets some.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  CaseSettings settings;  ///< How each case runs.
  /// Its report is to be added to others': counts alone, without what is said of them.
  bool is_piece = false;
};

/// Why a run ended before all its cases had run.
enum class EarlyEnd { None, Cancelled, FirstFailure, Late };

/// Says in the report of one op that only `report.cases` of `planned` cases ran: of the others
/// nothing is known, so that without a failure there is no verdict.
void tell_not_run(OpTestReport& report, uint64_t planned, EarlyEnd end);

/// Whether number `index` belongs to part `shard` of `shards` (from 1); always when shards is 0.
/// Every index belongs to exactly one part.
inline bool is_in_shard(uint64_t index, uint64_t shard, uint64_t shards) {
  return shards == 0 || index % shards == shard - 1;
}

/// What the campaign tells while it runs. The first two must be set.
struct CampaignEvents {
  /// Every case, in no particular order, those that ended meanwhile together; returns when their
  /// results are kept. Called by one thread at a time.
  std::function<Status(const std::vector<const CaseReport*>&)> on_cases;
  /// Cases to come, before the first one; fewer are run when the campaign is cancelled or late.
  std::function<void(uint64_t total)> on_total;
  /// What the person who wrote the kernels should know, each once, before the first case.
  std::function<void(const std::string& text)> on_warning;
  /// Kernels that are compiled, of how many, before anything else.
  std::function<void(size_t ready, size_t total)> on_compiling = {};
  /// Before the first case of an op in a dtype. By any thread.
  std::function<void(const OpConfig& op, DType dtype)> on_op_started = {};
  /// When its last case is kept; what the campaign says of it in the end may say more. Not called
  /// where not all cases came to a result.
  std::function<void(const OpTestReport& counts)> on_op_finished = {};
};

/// Cases that are planned one by one while others run. Used by many threads at once.
class CaseSource {
 public:
  struct NextCase {
    uint64_t place = 0;
    CasePlan plan;
    CaseSettings settings;
  };
  virtual ~CaseSource() = default;
  /// Waits until one may begin; nothing when there is no more.
  virtual std::optional<NextCase> next() = 0;
  /// Called once for each.
  virtual void ended(NextCase one, Result<CaseReport> outcome) = 0;
};

class Campaign {
 public:
  /// All must outlive the campaign. `side` has the emulator where `slots` are a GPU's; null: none.
  /// `backend`: whose sizes generated cases have. Slots beside a daemon's own run the same cases.
  Campaign(const Config& config, KernelStore& kernels, SlotPool& slots, ExtraSlots* side,
           std::string backend)
      : config_(config),
        kernels_(kernels),
        slots_(slots),
        side_(side),
        backend_(std::move(backend)) {}

  /// Names in options.ops that are no op are passed over: whoever asks has looked them up. `cancel`
  /// ends it between cases; what was found is reported.
  Result<TestReportReply> run(const CampaignOptions& options, const CampaignEvents& events,
                              const std::atomic<bool>& cancel);

  /// Cases of one op side by side, about `cases` in all, until the source has no more.
  void run_cases(const OpConfig& op, CaseSource& source, uint64_t cases, const LaneClaim& claim);

  /// What reference scripts read, of all cases so far.
  const ReferenceFiles& reference_files() const;

  /// What the kernels of the op compare sizes with, in this dtype. Empty where they do not compile.
  Constants constants_of(const OpConfig& op, DType dtype);

  /// From what the cases of the op in this dtype are drawn. Empty `strategies`: the
  /// configuration's.
  CaseOptions case_options(const OpConfig& op, DType dtype,
                           const std::vector<Strategy>& strategies = {});
  /// The large sizes of the op's cases; nothing is compiled for it.
  LargeSizes large_sizes_of(const OpConfig& op, DType dtype) const;
  /// Declared sizes that no case has, and large cases that were left out so far; for people.
  std::vector<std::string> sizes_not_run(const OpConfig& op, DType dtype) const;
  /// The latter alone: of these no plan tells.
  std::vector<std::string> sizes_left_out(const OpConfig& op, DType dtype) const;

  /// One case of one op, with its variant chosen by policy and priority. `lane`: that of the last
  /// case of the claim on this thread, and then that of this one.
  Result<CaseReport> run_one(const OpConfig& op, const CasePlan& plan, const CaseSettings& settings,
                             const LaneClaim& claim, HeldLane* lane = nullptr);

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
  Result<const KernelConfig*> choose_kernel(const OpConfig& op, const CasePlan& plan) const;
  /// A slot of the emulator that fuses nothing, where the own slots have no shadows or may fuse;
  /// else empty.
  std::function<Result<SlotLease>()> unfused_slot(const LaneClaim& claim) const;
  Result<CaseReport> run_large(const OpConfig& op, const CasePlan& plan,
                               const CaseSettings& settings, const LaneClaim& claim);
  Result<CaseReport> run_on_slot(const OpConfig& op, const CasePlan& plan, Slot& slot,
                                 const CaseSettings& settings, const LaneClaim& claim);
  void run_items(Progress& progress, const CampaignOptions& options);
  Status run_and_keep(Progress& progress, const CampaignOptions& options);

  const Config& config_;
  KernelStore& kernels_;
  SlotPool& slots_;
  ExtraSlots* const side_;
  const std::string backend_;
  LargeCases large_;
};

}  // namespace gpuemu
