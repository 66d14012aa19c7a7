// Groups of cases (op and dtype), a queue over them, one thread per lane.
#include "daemon/engine/campaign.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "common/base/limits.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

std::vector<DType> selected_dtypes(const OpConfig& op, const std::vector<DType>& wanted) {
  if (wanted.empty()) return op.dtypes;
  std::vector<DType> selected;
  for (const DType dtype : op.dtypes) {
    if (std::ranges::find(wanted, dtype) != wanted.end()) selected.push_back(dtype);
  }
  return selected;
}

}  // namespace

/// All cases of one op in one dtype.
struct Campaign::Group {
  const OpConfig* op = nullptr;
  uint64_t dtype_index = 0;  ///< In the op's own list, so that filters do not move iterations.
  uint64_t cases = 0;
  CaseOptions case_options;

  std::mutex mutex;
  OpTestReport report;                       // Guarded by mutex.
  std::map<uint64_t, ValidationResult> bad;  // By iteration; guarded by mutex.
  std::optional<Clock::time_point> first;    // Guarded by mutex.
  Clock::time_point last;                    // Guarded by mutex.

  uint64_t iteration_of(uint64_t number) const {
    return number * std::max<uint64_t>(1, op->dtypes.size()) + dtype_index;
  }

  void record(const CasePlan& plan, const CaseOutcome& outcome, Clock::time_point started) {
    const std::lock_guard lock(mutex);
    if (!first || started < *first) first = started;
    last = Clock::now();
    ++report.cases;
    ++(outcome.result.passed ? report.passed : report.failed);
    ++report.strategies[plan.value_strategy];
    if (report.kernel.empty()) report.kernel = plan.kernel;
    report.max_diff = std::max(report.max_diff, outcome.result.max_diff);
    report.worst_error_use = std::max(report.worst_error_use, outcome.worst_use);
    if (outcome.result.passed) return;
    bad.emplace(plan.iteration, outcome.result);
    if (bad.size() > kFailuresListedMax) bad.erase(std::prev(bad.end()));
  }

  OpTestReport finish() {
    const std::lock_guard lock(mutex);
    for (auto& [iteration, result] : bad) report.failures.push_back(std::move(result));
    if (first) {
      report.duration_ms = milliseconds_between(*first, last);
      const double seconds = std::chrono::duration<double>(last - *first).count();
      if (seconds > 0) report.cases_per_second = static_cast<double>(report.cases) / seconds;
    }
    return report;
  }
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

Result<CaseOutcome> Campaign::run_on_lane(const OpConfig& op, const CasePlan& plan,
                                          CaseMachine machine, bool keep_tensors) {
  const KernelConfig* kernel = GPUEMU_TRY(choose_kernel(op, plan));
  if (kernel == nullptr) {
    return error(ErrorCode::Unsupported, "no kernel of '{}' supports this case", op.name);
  }
  const auto prepared = GPUEMU_TRY(kernels_.prepare(*kernel, plan.dtype));
  CasePlan named = plan;
  named.kernel = kernel->name;
  return run_case({config_, op, *kernel, *prepared, named, keep_tensors}, machine);
}

Result<CaseOutcome> Campaign::run_one(const OpConfig& op, const CasePlan& plan, bool keep_tensors,
                                      const std::string& session) {
  auto lease = lanes_.acquire(session);
  if (!lease) return lease.error();
  Lane& lane = **lease;
  return run_on_lane(op, plan, {lane.arena, lane.worker, lane.reference}, keep_tensors);
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
  group->report.op_name = op.name;
  group->report.dtype = dtype;
  if (op.mode != ExecutionMode::Kernel) {
    group->report.skipped_reason = "runs in the client: no kernel for the daemon to execute";
    group->cases = 0;
    return group;
  }
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config_.find_kernel(name);
    if (kernel == nullptr) continue;
    const auto prepared = kernels_.prepare(*kernel, dtype);
    if (prepared) continue;
    group->report.skipped_reason = fmt::format("error: {}", prepared.error().message);
    group->cases = 0;
  }
  return group;
}

Result<TestReportReply> Campaign::run(const CampaignOptions& options, const CampaignEvents& events,
                                      const std::atomic<bool>& cancel) {
  const auto start = Clock::now();
  std::vector<std::shared_ptr<Group>> groups;
  for (const OpConfig& op : config_.ops) {
    if (!options.ops.empty() && std::ranges::find(options.ops, op.name) == options.ops.end()) {
      continue;
    }
    for (const DType dtype : selected_dtypes(op, options.dtypes)) {
      groups.push_back(GPUEMU_TRY(make_group(op, dtype, options)));
    }
  }
  struct Item {
    Group* group;
    uint64_t number;
  };
  std::vector<Item> items;
  for (const auto& group : groups) {
    for (uint64_t number = 0; number < group->cases; ++number)
      items.push_back({group.get(), number});
  }
  if (options.cases_total) {
    // Round robin over the dtypes, which is the order of the iterations.
    std::ranges::stable_sort(items, {}, &Item::number);
    items.resize(std::min<size_t>(items.size(), *options.cases_total));
  }
  events.on_total(items.size());

  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex broken_mutex;
  std::optional<Error> broken;
  const auto work = [&] {
    while (!stop && !cancel) {
      const size_t index = next++;
      if (index >= items.size()) return;
      const auto started = Clock::now();
      Group& group = *items[index].group;
      const auto plan = plan_case(*group.op, options.seed, group.iteration_of(items[index].number),
                                  group.case_options);
      auto outcome = plan ? run_one(*group.op, *plan, false, options.session)
                          : Result<CaseOutcome>(plan.error());
      if (!outcome && outcome.error().code == ErrorCode::Cancelled) return;
      if (!outcome && outcome.error().code == ErrorCode::Unsupported) continue;
      const Status kept = outcome ? events.on_case(*outcome) : Status(outcome.error());
      if (!kept) {
        const std::lock_guard lock(broken_mutex);
        if (!broken) broken = kept.error();
        stop = true;
        return;
      }
      group.record(*plan, *outcome, started);
      if (!outcome->result.passed && options.fail_fast) stop = true;
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min<size_t>(lanes_.size(), std::max<size_t>(1, items.size()));
  for (size_t index = 0; index < count; ++index) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (broken) return *broken;

  TestReportReply report;
  report.seed = options.seed;
  for (const auto& group : groups) {
    OpTestReport one = group->finish();
    report.total += one.cases;
    report.passed += one.passed;
    report.failed += one.failed;
    if (one.cases == 0 && one.skipped_reason.empty()) {
      one.skipped_reason =
          cancel || stop ? "stopped before its first case" : "no kernel supports any of its cases";
    }
    if (!one.skipped_reason.empty()) ++report.skipped;
    report.ops.push_back(std::move(one));
  }
  report.duration_ms = milliseconds_between(start, Clock::now());
  return report;
}

}  // namespace gpuemu
