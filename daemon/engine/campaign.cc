// Groups of cases (op and dtype), a queue over them, one thread per lane; finished cases go to the
// thread that keeps them.
#include "daemon/engine/campaign.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "common/base/limits.h"
#include "common/base/threads.h"
#include "daemon/engine/follow_ups.h"
#include "daemon/engine/keeper.h"
#include "daemon/engine/proof_tally.h"
#include "daemon/engine/unreachable.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

/// An op of which so many cases ran into their time limit, and one of so many that ran, will do so
/// again: what comes of its other cases is not worth hours.
constexpr uint64_t kTimeoutsWaitedFor = 3, kTimeoutsShare = 4;

uint64_t milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

std::vector<DType> selected_dtypes(const OpConfig& op, const CampaignOptions& options) {
  const std::vector<DType>& wanted = options.dtypes;
  if (wanted.empty()) return op.dtypes;
  std::vector<DType> selected;
  for (const DType dtype : op.dtypes) {
    if (std::ranges::find(wanted, dtype) != wanted.end()) selected.push_back(dtype);
  }
  if (selected.empty() && options.prefer_dtypes && !op.dtypes.empty()) return {op.dtypes.front()};
  return selected;
}

}  // namespace

/// All cases of one op in one dtype.
struct Campaign::Group {
  const OpConfig* op = nullptr;
  uint64_t dtype_index = 0;  ///< In the op's own list, so that filters do not move iterations.
  uint64_t cases = 0;
  CaseOptions case_options;
  std::set<std::string> warnings;

  /// Cases that ran, those of them that their time limit ended, and those that nobody waited for.
  std::atomic<uint64_t> ran{0}, timed_out{0}, left_out{0};
  /// Why no case of it can be made; the others go on. Set once, by any thread.
  std::atomic<bool> broken{false};
  std::string why_broken;

  // All below: the keeping thread's while the campaign runs.
  OpTestReport report;
  ProofTally proof;
  std::map<uint64_t, ValidationResult> bad;  ///< By iteration.
  std::optional<Clock::time_point> first;
  Clock::time_point last;

  uint64_t iteration_of(uint64_t number) const {
    return number * std::max<uint64_t>(1, op->dtypes.size()) + dtype_index;
  }

  void record(Finished finished);
  void note_time(const ValidationResult& result) {
    const auto has = [&](FindingKind kind) {
      return std::ranges::find(result.failures, kind, &ValidationFailure::kind) !=
             result.failures.end();
    };
    ++ran;
    // Where it decides how long the kernel runs, the launch was stopped early.
    if (has(FindingKind::Timeout) && !has(FindingKind::UninitializedRead)) ++timed_out;
  }
  /// Whether further cases would cost their whole time limit and tell nothing new.
  bool leave_out() {
    if (timed_out < kTimeoutsWaitedFor || timed_out * kTimeoutsShare < ran) return false;
    ++left_out;
    return true;
  }
  void fail(const Error& why) {
    if (!broken.exchange(true)) why_broken = why.message;
  }

  OpTestReport finish() {
    for (auto& [iteration, result] : bad) report.failures.push_back(std::move(result));
    report.proof = proof.proof(report.dtype);
    if (broken) report.skipped_reason = fmt::format("error: {}", why_broken);
    if (left_out > 0) {
      report.notes.push_back(
          fmt::format("{} of {} cases ran into their time limit (runtime.case_timeout_ms): the {} "
                      "others were left out",
                      timed_out.load(), ran.load(), left_out.load()));
    }
    if (first) {
      report.duration_ms = milliseconds_between(*first, last);
      const double seconds = std::chrono::duration<double>(last - *first).count();
      if (seconds > 0) report.cases_per_second = static_cast<double>(report.cases) / seconds;
    }
    return report;
  }
};

struct Campaign::Item {
  Group* group = nullptr;
  uint64_t number = 0;
};

/// All cases of a run by their place in it: there may be more than memory would hold as a list.
class Campaign::Items {
 public:
  Items(const std::vector<std::shared_ptr<Group>>& groups, const CampaignOptions& options)
      : first_(options.first_number),
        // The dtypes in turn is the order of the iterations.
        in_turns_(options.cases_total || options.deadline) {
    for (const auto& group : groups) {
      if (group->cases > 0) groups_.push_back(group.get());
    }
    step_ = std::max<uint64_t>(1, options.shards);
    while (first_ < options.first_number + step_ &&
           !is_in_shard(first_, options.shard, options.shards)) {
      ++first_;
    }
    const uint64_t skipped = first_ - options.first_number;
    each_ = options.cases > skipped ? (options.cases - skipped + step_ - 1) / step_ : 0;
    count_ = each_ * groups_.size();
    if (options.cases_total) count_ = std::min(count_, *options.cases_total);
  }
  uint64_t count() const { return count_; }
  /// REQUIRES: index < count().
  Item at(uint64_t index) const {
    const uint64_t groups = groups_.size();
    const uint64_t group = in_turns_ ? index % groups : index / each_;
    const uint64_t number = in_turns_ ? index / groups : index % each_;
    return {groups_[group], first_ + number * step_};
  }

 private:
  std::vector<Group*> groups_;  ///< Each has options.cases cases.
  uint64_t first_ = 0, step_ = 1, each_ = 0, count_ = 0;
  bool in_turns_ = false;
};

/// A case that was judged and is to be kept.
struct Campaign::Finished {
  Group* group = nullptr;
  CasePlan plan;
  CaseOutcome outcome;
  Clock::time_point started, ended;
};

void Campaign::Group::record(Finished finished) {
  ValidationResult& result = finished.outcome.result;
  if (!first || finished.started < *first) first = finished.started;
  last = std::max(last, finished.ended);
  ++report.cases;
  ++(result.passed ? report.passed : report.failed);
  ++report.strategies[finished.plan.value_strategy];
  for (const std::string& relation : finished.outcome.relations) ++report.relations[relation];
  proof.add(finished.outcome, finished.plan.value_strategy);
  if (report.kernel.empty()) report.kernel = finished.outcome.kernel;
  report.max_diff = std::max(report.max_diff, result.max_diff);
  report.worst_error_use = std::max(report.worst_error_use, finished.outcome.worst_use);
  if (result.passed) return;
  bad.emplace(finished.plan.iteration, std::move(result));
  if (bad.size() > kFailuresListedMax) bad.erase(std::prev(bad.end()));
}

/// What the threads of one run share.
class Campaign::Progress {
 public:
  Progress(Items items, const CampaignOptions& options, const CampaignEvents& events,
           const std::atomic<bool>& cancel)
      : items_(std::move(items)),
        deadline_(options.deadline),
        events_(events),
        cancel_(cancel),
        keeper_([this](std::vector<Finished> batch) { return keep(std::move(batch)); }) {}

  uint64_t size() const { return items_.count(); }
  bool stopped() const { return stop_; }
  bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }
  void stop() { stop_ = true; }
  /// The next case to run; nothing when there is none or the run ends early.
  std::optional<Item> next() {
    const uint64_t index = stop_ || cancel_ || is_late() ? items_.count() : next_++;
    return index < items_.count() ? std::optional(items_.at(index)) : std::nullopt;
  }
  /// Before the first finished().
  Status start_keeping() { return keeper_.start(); }
  void finished(Finished one) {
    const size_t bytes = snapshot_bytes(one.outcome.result);
    keeper_.push(std::move(one), bytes);
  }
  /// Returns when every case is kept.
  Status finish_keeping() { return keeper_.finish(); }
  /// The whole run ends with the first error.
  void broken(const Error& why) {
    const std::lock_guard lock(mutex_);
    if (!broken_) broken_ = why;
    stop_ = true;
  }
  std::optional<Error> broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

 private:
  Status keep(std::vector<Finished> batch) {
    if (const auto why = broken()) return *why;
    std::vector<const CaseOutcome*> outcomes;
    for (const Finished& one : batch) outcomes.push_back(&one.outcome);
    if (const Status kept = events_.on_cases(outcomes); !kept) {
      broken(kept.error());
      return kept;
    }
    for (Finished& one : batch) one.group->record(std::move(one));
    return ok_status();
  }

  const Items items_;
  const std::optional<Clock::time_point> deadline_;
  const CampaignEvents& events_;
  const std::atomic<bool>& cancel_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::optional<Error> broken_;  // Guarded by mutex_.
  Keeper<Finished> keeper_;      // Last: its thread uses all of the others.
};

Result<const KernelConfig*> Campaign::choose_kernel(const OpConfig& op,
                                                    const CasePlan& plan) const {
  const Scope scope = scope_of(op, plan);
  const auto preferred = config_.kernel_policy.find(op.name);
  const KernelConfig* best = nullptr;
  for (const std::string& name : op.kernels) {
    if (!plan.kernel.empty() && name != plan.kernel) continue;
    const KernelConfig* kernel = config_.find_kernel(name);
    if (kernel == nullptr) continue;
    if (!GPUEMU_TRY(supports_case(*kernel, scope))) continue;
    if (preferred != config_.kernel_policy.end() && preferred->second == name) return kernel;
    if (best == nullptr || kernel->priority > best->priority) best = kernel;
  }
  return best;
}

Result<CaseOutcome> Campaign::run_on_lane(const OpConfig& op, const CasePlan& plan, Lane& lane,
                                          CaseWishes wishes, const std::string& session) {
  const KernelConfig* kernel = GPUEMU_TRY(choose_kernel(op, plan));
  if (kernel == nullptr) {
    return error(ErrorCode::Unsupported, "no kernel of '{}' supports this case", op.name);
  }
  const auto prepared = GPUEMU_TRY(kernels_.prepare(*kernel, plan.dtype));
  CasePlan named = plan;
  named.kernel = kernel->name;
  const KernelFinder find_kernel = [this](const OpConfig& other,
                                          const CasePlan& wanted) -> Result<ChosenKernel> {
    ChosenKernel chosen{GPUEMU_TRY(choose_kernel(other, wanted)), nullptr};
    if (chosen.kernel == nullptr) {
      return error(ErrorCode::Unsupported, "no kernel of '{}' supports this case", other.name);
    }
    chosen.prepared = GPUEMU_TRY(kernels_.prepare(*chosen.kernel, wanted.dtype));
    return chosen;
  };
  CaseRequest request{config_, op, *kernel, *prepared, named, wishes, find_kernel};
  if (side_ != nullptr && side_->own_backend() != "emulator") {
    request.emulator_lane = [this, &session]() -> Result<LaneLease> {
      LanePool* pool = GPUEMU_TRY(side_->get({.backend = "emulator", .contraction = {}}));
      return pool->acquire(session);
    };
  }
  // An interrupted command shall not wait for the time limit of a kernel.
  lane.worker.stop_when(kernels_.cancel());
  auto outcome = run_case(request, {lane.arena, lane.worker, lane.reference});
  lane.worker.stop_when(nullptr);
  return outcome;
}

Result<CaseOutcome> Campaign::run_one(const OpConfig& op, const CasePlan& plan, CaseWishes wishes,
                                      const std::string& session) {
  auto lease = lanes_.acquire(session);
  if (!lease) return lease.error();
  return run_on_lane(op, plan, **lease, wishes, session);
}

Constants Campaign::constants_of(const OpConfig& op, DType dtype) {
  std::set<int64_t> all, singled;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config_.find_kernel(name);
    if (op.mode != ExecutionMode::Kernel || kernel == nullptr) continue;
    const auto prepared = kernels_.prepare(*kernel, dtype);
    if (!prepared) continue;
    const Constants& found = (*prepared)->constants;
    all.insert(found.all.begin(), found.all.end());
    singled.insert(found.singled.begin(), found.singled.end());
  }
  return {{all.begin(), all.end()}, {singled.begin(), singled.end()}};
}

std::vector<std::optional<Result<CaseOutcome>>> Campaign::run_batch(
    const OpConfig& op, const std::vector<CasePlan>& plans, const CaseWishes& wishes,
    const std::string& session, const std::atomic<bool>& cancel) {
  std::vector<std::optional<Result<CaseOutcome>>> outcomes(plans.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < plans.size() && !cancel; i = next++)
      outcomes[i] = run_one(op, plans[i], wishes, session);
  };
  run_on_threads(std::min(lanes_.size(), plans.size()), work);
  return outcomes;
}

Result<std::shared_ptr<Campaign::Group>> Campaign::make_group(const OpConfig& op, DType dtype,
                                                              const CampaignOptions& options) {
  auto group = std::make_shared<Group>();
  group->op = &op;
  group->dtype_index =
      static_cast<uint64_t>(std::ranges::find(op.dtypes, dtype) - op.dtypes.begin());
  group->cases = options.cases;
  group->case_options.dtypes = {dtype};
  group->case_options.strategies =
      options.strategies.empty() ? config_.strategies : options.strategies;
  group->case_options.constants = constants_of(op, dtype);
  group->report.op_name = op.name;
  group->report.dtype = dtype;
  if (op.mode != ExecutionMode::Kernel) {
    group->report.skipped_reason = "runs in the client: no kernel for the daemon to execute";
    group->cases = 0;
    return group;
  }
  const auto constants = [&](DType wanted) { return constants_of(op, wanted); };
  for (const std::string& name : unreachable_variants(config_, op, options.seed, constants)) {
    group->warnings.insert(
        fmt::format("{}: variant {} is not tested: {}", op.name, name, kUnreachable));
  }
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config_.find_kernel(name);
    if (kernel == nullptr) continue;
    const auto prepared = kernels_.prepare(*kernel, dtype);
    if (prepared) {
      const std::vector<std::string>& warnings = (*prepared)->warnings;
      group->warnings.insert(warnings.begin(), warnings.end());
      continue;
    }
    const Error& why = prepared.error();
    group->report.skipped_reason =
        why.code == ErrorCode::Cancelled ? kStoppedBefore : fmt::format("error: {}", why.message);
    group->cases = 0;
  }
  return group;
}

struct Campaign::Selected {
  const OpConfig* op = nullptr;
  DType dtype = DType::Float32;
};

std::vector<Campaign::Selected> Campaign::select(const CampaignOptions& options) const {
  std::vector<Selected> selected;
  for (const OpConfig& op : config_.ops) {
    if (!options.ops.empty() && std::ranges::find(options.ops, op.name) == options.ops.end()) {
      continue;
    }
    for (const DType dtype : selected_dtypes(op, options)) {
      if (!options.left_out.contains({op.name, dtype})) selected.push_back({&op, dtype});
    }
  }
  return selected;
}

/// All kernels at once, so that those of one source are compiled together. What does not compile is
/// said of the ops that want it.
void Campaign::compile(const std::vector<Selected>& all, const CampaignEvents& events) {
  std::vector<KernelStore::Wanted> wanted;
  for (const auto& [op, dtype] : all) {
    if (op->mode != ExecutionMode::Kernel) continue;
    for (const std::string& name : op->kernels) {
      const KernelConfig* kernel = config_.find_kernel(name);
      if (kernel != nullptr) wanted.emplace_back(kernel, dtype);
    }
  }
  kernels_.prepare_all(wanted, [&](size_t ready) {
    if (events.on_compiling) events.on_compiling(ready, wanted.size());
  });
}

void Campaign::run_items(Progress& progress, const CampaignOptions& options) {
  while (const auto item = progress.next()) {
    Finished one{
        .group = item->group, .plan = {}, .outcome = {}, .started = Clock::now(), .ended = {}};
    Group& group = *item->group;
    if (group.broken || group.leave_out()) continue;
    auto plan =
        plan_case(*group.op, options.seed, group.iteration_of(item->number), group.case_options);
    if (!plan) {
      group.fail(plan.error());
      continue;
    }
    auto outcome = run_one(*group.op, *plan, options.wishes, options.session);
    if (!outcome) {
      const ErrorCode code = outcome.error().code;
      if (code == ErrorCode::Cancelled) return;
      if (code == ErrorCode::Unsupported) continue;
      if (code != ErrorCode::InvalidArgument) return progress.broken(outcome.error());
      group.fail(outcome.error());
      continue;
    }
    group.note_time(outcome->result);
    if (!outcome->result.passed && options.fail_fast) progress.stop();
    one.plan = *std::move(plan);
    one.outcome = *std::move(outcome);
    one.outcome.inputs.clear();  // The snapshot has them.
    one.ended = Clock::now();
    progress.finished(std::move(one));
  }
}

/// Returns when every case has run and is kept.
Status Campaign::run_and_keep(Progress& progress, const CampaignOptions& options) {
  GPUEMU_TRY(progress.start_keeping());
  const size_t lanes = options.threads_max == 0
                           ? lanes_.size()
                           : std::min<size_t>(options.threads_max, lanes_.size());
  run_on_threads(std::min<uint64_t>(lanes, progress.size()), [&] { run_items(progress, options); });
  return progress.finish_keeping();
}

Result<TestReportReply> Campaign::run(const CampaignOptions& options, const CampaignEvents& events,
                                      const std::atomic<bool>& cancel) {
  const auto start = Clock::now();
  GPUEMU_TRY(check_strategies(options.strategies));
  const std::vector<Selected> selected = select(options);
  compile(selected, events);
  std::vector<std::shared_ptr<Group>> groups;
  for (const Selected& one : selected) {
    groups.push_back(GPUEMU_TRY(make_group(*one.op, one.dtype, options)));
  }
  Progress progress(Items(groups, options), options, events, cancel);
  events.on_total(progress.size());
  std::set<std::string> warnings;
  for (const auto& group : groups) warnings.insert(group->warnings.begin(), group->warnings.end());
  for (const std::string& warning : warnings)
    if (events.on_warning) events.on_warning(warning);

  GPUEMU_TRY(run_and_keep(progress, options));
  if (const auto broken = progress.broken()) return *broken;

  TestReportReply report;
  report.seed = options.seed;
  for (const auto& group : groups) {
    OpTestReport one = group->finish();
    describe_verdict(config_, *group->op, one);
    report.total += one.cases;
    report.passed += one.passed;
    report.failed += one.failed;
    if (one.cases == 0 && one.skipped_reason.empty()) {
      one.skipped_reason =
          cancel || progress.stopped() || progress.is_late() ? kStoppedBefore : kUnsupported;
    }
    if (!one.skipped_reason.empty()) ++report.skipped;
    report.ops.push_back(std::move(one));
  }
  report.duration_ms = milliseconds_between(start, Clock::now());
  return report;
}

}  // namespace gpuemu
