// Groups cases by op and dtype, queues them, and runs them on one thread per slot; finished cases
// go to the thread that stores them.
#include "daemon/campaign/campaign.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "common/base/clock.h"
#include "common/base/threads.h"
#include "common/protocol/op_state.h"
#include "daemon/campaign/campaign_groups.h"
#include "daemon/campaign/result_writer.h"
#include "daemon/campaign/together_pace.h"
#include "daemon/campaign/unused_variants.h"
#include "daemon/kernels/argument_types.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/pipeline/describe_verdict.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/slot_pool.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/large_sizes.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

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

/// The number of short cases (a few milliseconds each) that takes as long as starting the Python
/// interpreter of a slot with NumPy.
constexpr uint64_t kCasesPerStart = 64;

/// Returns the number of threads for a run of `cases`. A short run uses the slots that have started
/// already, and at least one per worker; a long run uses all.
size_t slots_worth_starting(const SlotPool& slots, uint64_t cases) {
  if (cases >= kCasesPerStart * slots.size()) return slots.size();
  const auto started = static_cast<size_t>(std::ranges::count_if(
      slots.statistics(), [](const SlotStatistics& one) { return one.reference_pid > 0; }));
  const size_t wanted =
      std::max({slots.workers() + slots.remote_slots(), started, size_t{cases / kCasesPerStart}});
  return std::min(wanted, slots.size());
}

}  // namespace

/// The state that the threads of one run share.
class Campaign::Progress {
 public:
  Progress(Items items, const CampaignOptions& options, const CampaignEvents& events,
           const std::atomic<bool>& cancel)
      : items_(std::move(items)),
        deadline_(options.deadline),
        events_(events),
        cancel_(cancel),
        writer_([this](std::vector<Finished> batch) { return keep(std::move(batch)); }) {}

  uint64_t size() const { return items_.count(); }
  bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }
  /// Returns why the cases that have not run yet will not run.
  EarlyEnd early_end() const {
    return cancel_ ? EarlyEnd::Cancelled
           : stop_ ? EarlyEnd::FirstFailure
                   : (is_late() ? EarlyEnd::Late : EarlyEnd::None);
  }
  void stop() { stop_ = true; }
  void begin(Group& group) {
    if (!group.started.exchange(true) && events_.on_op_started) {
      events_.on_op_started(*group.op, group.report.dtype);
    }
  }
  /// Returns the next case to run; nothing when there is none left or the run ends early.
  std::optional<Item> next() {
    const uint64_t index = stop_ || cancel_ || is_late() ? items_.count() : next_++;
    return index < items_.count() ? std::optional(items_.at(index)) : std::nullopt;
  }
  /// Returns how many cases next() has not returned yet.
  uint64_t left() const { return items_.count() - std::min<uint64_t>(next_, items_.count()); }
  /// REQUIRES: called before the first finished().
  Status start_keeping() { return writer_.start(); }
  /// Queues a finished case for storing. Releases `lane` while it waits for the disk.
  void finished(Finished one, HeldLane& lane) {
    const size_t bytes = snapshot_bytes(one.outcome.result);
    if (writer_.try_push(one, bytes)) return;
    lane.release();
    writer_.push(std::move(one), bytes);
  }
  /// Waits until every case is stored.
  Status finish_keeping() { return writer_.finish(); }
  /// Ends the whole run; the first error is kept.
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
    std::vector<Finished> ready;
    ready.reserve(batch.size());
    for (Finished& one : batch) one.group->admit(std::move(one), ready);
    if (ready.empty()) return ok_status();
    std::vector<const CaseReport*> outcomes;
    for (const Finished& one : ready) outcomes.push_back(&one.outcome);
    if (const Status kept = events_.on_cases(outcomes); !kept) {
      broken(kept.error());
      return kept;
    }
    for (Finished& one : ready) {
      Group& group = *one.group;
      group.record(std::move(one));
      if (group.report.cases == group.planned && events_.on_op_finished) {
        events_.on_op_finished(group.report);
      }
    }
    return ok_status();
  }

  const Items items_;
  const std::optional<Clock::time_point> deadline_;
  const CampaignEvents& events_;
  const std::atomic<bool>& cancel_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::optional<Error> broken_;    // Guarded by mutex_.
  ResultWriter<Finished> writer_;  // Last, because its thread uses all the other members.
};

const ReferenceFiles& Campaign::reference_files() const { return slots_.reference_files(); }

void Campaign::run_cases(const OpConfig& op, CaseSource& source, uint64_t cases,
                         const LaneClaim& claim) {
  // One thread more than there are slots: it waits for the next free slot, so that the session
  // keeps its turn. No thread holds a lane for its next case, which may have to wait for others to
  // end.
  const size_t slots = slots_worth_starting(slots_, cases);
  TogetherReached reached;
  run_on_threads(std::min<uint64_t>(slots + (slots == slots_.size() ? 1 : 0), cases), [&] {
    TogetherPace pace(slots_.places_per_slot(), reached);
    std::vector<CaseSource::NextCase> some;
    std::vector<Wanted> all;  // The cases of `some`.
    size_t together = 1;      // How many of them to wait for.
    for (;;) {
      auto one = some.empty() ? source.next() : source.next_now();
      if (!one && some.empty()) return;
      const auto wanted = [&](const auto& next) { return Wanted{&op, &next.plan, &next.settings}; };
      Wanted asked = one ? wanted(*one) : Wanted{};
      const bool fits = one && may_run_together(asked, claim);
      if (fits) {
        some.push_back(*std::move(one));
        all.push_back(asked);
        one = std::nullopt;
      }
      if (fits && some.size() == 1) {
        // Threads that take all cases that may begin leave none for others, and delay those that
        // wait for them.
        const uint64_t share = source.ready(2 * slots * slots_.places_per_slot()) / (2 * slots);
        together = std::min<uint64_t>(pace.cases(slots_.usage(claim).others_wait), share);
      }
      if (fits && some.size() < together && !is_full_batch(all)) continue;
      for (size_t i = 0; i < some.size(); ++i) all[i].moved_to(some[i].plan, some[i].settings);
      HeldLane lane;
      Outcomes outcomes = run_together(all, claim, &lane);
      pace.note(outcomes, lane.held_for());
      lane.release();
      for (size_t i = 0; i < some.size(); ++i) {
        source.ended(std::move(some[i]), std::move(outcomes[i]));
      }
      some.clear();
      all.clear();
      if (!one) continue;
      auto outcome = run_one(op, one->plan, one->settings, claim);
      source.ended(*std::move(one), std::move(outcome));
    }
  });
}

Result<std::shared_ptr<Campaign::Group>> Campaign::make_group(const OpConfig& op, DType dtype,
                                                              const CampaignOptions& options) {
  auto group = std::make_shared<Group>();
  group->op = &op;
  group->dtype_index =
      static_cast<uint64_t>(std::ranges::find(op.dtypes, dtype) - op.dtypes.begin());
  group->cases = options.cases;
  group->case_options = case_options(op, dtype, options.strategies);
  group->report.op_name = op.name;
  group->report.dtype = dtype;
  if (op.mode != ExecutionMode::Kernel) {
    set_op_state(group->report, OpState::RunsInClient, kRunsInClient);
    group->cases = 0;
    return group;
  }
  for (const std::string& text : group->case_options.large.not_run) {
    group->warnings.insert(fmt::format("{}: declared sizes that no case has: {}", op.name, text));
  }
  const auto constants = [&](DType wanted) { return constants_of(op, wanted); };
  const LargeSizes& large = group->case_options.large;
  for (const std::string& name :
       unreachable_variants(config_, op, options.seed, large, constants)) {
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
      for (const std::string& text : wider_tensors(op, *kernel, **prepared, dtype)) {
        group->warnings.insert(fmt::format("{}: {}", op.name, text));
      }
      continue;
    }
    const Error& why = prepared.error();
    set_op_state(group->report, OpState::Broken,
                 why.code == ErrorCode::Cancelled
                     ? fmt::format("interrupted before its kernel {} was compiled", name)
                     : why.message);
    group->cases = 0;
  }
  for (const std::string& text : compiler_warnings(op, dtype)) {
    group->notes.insert("warning: " + text);
  }
  return group;
}

std::vector<std::string> Campaign::compiler_warnings(const OpConfig& op, DType dtype) {
  std::vector<std::string> all;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config_.find_kernel(name);
    if (kernel == nullptr) continue;
    const auto prepared = kernels_.prepare(*kernel, dtype);
    if (!prepared) continue;
    const std::vector<std::string>& own = (*prepared)->compiler_warnings;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
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

/// Compiles all kernels in one batch, so that those of one source are compiled together. Compile
/// errors are reported for the ops that use the kernel.
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

/// The next case, planned; nothing when there is none left or the run ends early.
std::optional<Campaign::Finished> Campaign::plan_next(Progress& progress,
                                                      const CampaignOptions& options) {
  while (const auto item = progress.next()) {
    Group& group = *item->group;
    if (group.skips_next()) continue;
    Finished one{
        .group = item->group, .plan = {}, .outcome = {}, .started = Clock::now(), .ended = {}};
    progress.begin(group);
    auto plan =
        plan_case(*group.op, options.seed, group.iteration_of(item->number), group.case_options);
    if (!plan) {
      group.fail(plan.error());
      continue;
    }
    one.plan = *std::move(plan);
    return one;
  }
  return std::nullopt;
}

/// Returns whether the thread goes on.
bool Campaign::take_outcome(Finished one, Result<CaseReport> outcome, Progress& progress,
                            const CampaignOptions& options, HeldLane& lane) {
  Group& group = *one.group;
  if (!outcome) {
    const ErrorCode code = outcome.error().code;
    if (code == ErrorCode::Cancelled) return false;
    if (code == ErrorCode::Unsupported) {
      ++group.settled;
      return true;
    }
    if (code != ErrorCode::InvalidArgument) {
      progress.broken(outcome.error());
      return false;
    }
    group.fail(outcome.error());
    return true;
  }
  ++group.settled;
  group.note_time(outcome->result);
  const bool ends = !outcome->result.passed && options.fail_fast;
  if (ends) progress.stop();
  one.outcome = *std::move(outcome);
  // The thread that allocated memory frees it fastest, and the one that stores has the cases of
  // all.
  one.outcome.extras.tensors.reset();  // The snapshot has its own copy.
  CasePlan recorded;                   // What Group::record() reads.
  recorded.iteration = one.plan.iteration;
  recorded.dims = std::move(one.plan.dims);
  recorded.value_strategy = one.plan.value_strategy;
  one.plan = std::move(recorded);
  one.ended = Clock::now();
  progress.finished(std::move(one), lane);
  return !ends;
}

/// At the end of a run, the other threads get their share: all of them, or those that hold the
/// session's lanes where others take the rest.
uint64_t Campaign::cases_together(const TogetherPace& pace, const Progress& progress,
                                  const LaneClaim& claim) const {
  const LaneUsage usage = slots_.usage(claim);
  const size_t threads = usage.others_wait ? std::max<size_t>(usage.own, 1) : slots_.size();
  return std::min<uint64_t>(pace.cases(usage.others_wait), progress.left() / (2 * threads));
}

void Campaign::run_items(Progress& progress, const CampaignOptions& options) {
  HeldLane lane;
  std::optional<TogetherPace> pace;  // For the cases of `paced`.
  const Group* paced = nullptr;
  std::vector<Finished> some;
  std::vector<Wanted> all;  // The cases of `some`.
  uint64_t together = 1;    // How many of them to wait for.
  for (bool goes_on = true; goes_on;) {
    auto one = plan_next(progress, options);
    if (!one && some.empty()) return;
    const auto wanted = [&](const Finished& next) {
      return Wanted{next.group->op, &next.plan, &options.settings};
    };
    Wanted asked = one ? wanted(*one) : Wanted{};
    // A batch holds cases of one op, so that no op delays another.
    const bool is_other = one && !some.empty() && one->group != some.back().group;
    const bool fits = one && !is_other && may_run_together(asked, options.claim);
    if (fits) {
      some.push_back(*std::move(one));
      all.push_back(asked);
      one = std::nullopt;
    }
    if (fits && some.size() == 1) {
      if (paced != some.back().group) {
        paced = some.back().group;
        pace.emplace(slots_.places_per_slot(), some.back().group->reached);
      }
      together = cases_together(*pace, progress, options.claim);
    }
    if (fits && some.size() < together && !is_full_batch(all)) continue;
    for (size_t i = 0; i < some.size(); ++i) all[i].moved_to(some[i].plan, options.settings);
    Outcomes outcomes = run_together(all, options.claim, &lane);
    if (pace) pace->note(outcomes, lane.held_for());
    for (size_t i = 0; goes_on && i < some.size(); ++i) {
      goes_on = take_outcome(std::move(some[i]), std::move(outcomes[i]), progress, options, lane);
    }
    some.clear();
    all.clear();
    if (!goes_on || !one) continue;
    auto outcome = run_one(*one->group->op, one->plan, options.settings, options.claim, &lane);
    goes_on = take_outcome(*std::move(one), std::move(outcome), progress, options, lane);
  }
}

/// Runs every case and waits until all are stored.
Status Campaign::run_and_keep(Progress& progress, const CampaignOptions& options) {
  GPUEMU_TRY(progress.start_keeping());
  size_t threads = options.threads_max == 0 ? slots_worth_starting(slots_, progress.size())
                                            : std::min<size_t>(options.threads_max, slots_.size());
  // A session with a memory limit releases its lane between cases, so one more thread waits for the
  // next free slot and the session keeps its turn.
  const bool gives_up = options.claim != nullptr && options.claim->session().memory_limit() != 0;
  if (options.threads_max == 0 && threads == slots_.size() && gives_up) ++threads;
  run_on_threads(std::min<uint64_t>(threads, progress.size()),
                 [&] { run_items(progress, options); });
  return progress.finish_keeping();
}

Result<TestReportReply> Campaign::run(const CampaignOptions& options, const CampaignEvents& events,
                                      const std::atomic<bool>& cancel) {
  const auto start = Clock::now();
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
  for (const std::string& warning : warnings) {
    if (events.on_warning) events.on_warning(warning);
  }

  const auto left_out_of = [&](const Group& group) {
    std::set<std::string> said;
    for (const std::string& text : sizes_left_out(*group.op, group.report.dtype)) {
      said.insert(fmt::format("{}: {}", group.op->name, text));
    }
    return said;
  };
  std::set<std::string> reported;  // Texts that earlier runs of this campaign reported.
  for (const auto& group : groups) reported.merge(left_out_of(*group));
  GPUEMU_TRY(run_and_keep(progress, options));
  if (const auto broken = progress.broken()) return *broken;

  const EarlyEnd end = progress.early_end();
  TestReportReply report;
  report.seed = options.seed;
  for (const auto& group : groups) {
    OpTestReport one = group->finish(end, options.is_piece);
    if (one.cases > 0) {
      for (const std::string& text : sizes_not_run(*group->op, one.dtype)) {
        one.notes.push_back("warning: " + text);
      }
    }
    for (const std::string& text : left_out_of(*group)) {
      if (events.on_warning && !reported.contains(text)) events.on_warning(text);
    }
    if (!options.is_piece) describe_verdict(config_, *group->op, one);
    report.total += one.cases;
    report.passed += one.passed;
    report.failed += one.failed;
    if (one.cases == 0 && one.state == OpState::Ran) {
      set_op_state(one, OpState::NoVariantFits, kUnsupported);
    }
    if (one.state != OpState::Ran) ++report.skipped;
    report.ops.push_back(std::move(one));
  }
  report.duration_ms = milliseconds_between(start, Clock::now());
  return report;
}

}  // namespace gpuemu
