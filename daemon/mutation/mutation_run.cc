// Runs mutants from one queue, with one thread per slot. The kernel's own outcomes are computed
// once.
#include "daemon/mutation/mutation_run.h"

#include <algorithm>
#include <mutex>

#include "common/base/blake2.h"
#include "common/base/shell_word.h"
#include "common/base/text.h"
#include "common/base/threads.h"
#include "daemon/case/case_report.h"
#include "daemon/case/case_request.h"
#include "daemon/mutation/mutant_equality.h"
#include "daemon/mutation/mutation_cases.h"
#include "daemon/pipeline/case_run.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/slot.h"
#include "judge/cases/case_tensors.h"
#include "judge/mutants/mutants.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

// A mutant may loop for ever, so its time limit is this multiple of the kernel's slowest case.
constexpr uint64_t kSlowdownMax = 20;
constexpr uint64_t kTimeoutMsMin = 2000;

// A mutant that only rounds differently has errors of the kernel's size, but not equal to them: the
// largest errors of two sets of hundreds of cases differ a little.
constexpr double kNoWorse = 1.25;
// These run without rounding, which takes tens of times as long.
constexpr size_t kExactCasesMax = 24;
const KernelConfig* choose_kernel(const Config& config, const OpConfig& op,
                                  const std::string& wanted) {
  const auto preferred = config.kernel_policy.find(op.name);
  const KernelConfig* best = nullptr;
  for (const std::string& name : op.kernels) {
    if (!wanted.empty() && name != wanted) continue;
    const KernelConfig* kernel = config.find_kernel(name);
    if (kernel == nullptr) continue;
    if (preferred != config.kernel_policy.end() && preferred->second == name) return kernel;
    if (best == nullptr || kernel->priority > best->priority) best = kernel;
  }
  return best;
}

/// Runs `work` for numbers 0 to count - 1 on as many threads as there are slots; ends early on an
/// error.
Status on_all_slots(const SlotPool& slots, size_t count,
                    const std::function<Status(size_t index)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status first;  // Guarded by mutex.
  const auto run = [&] {
    for (size_t index = next++; index < count; index = next++) {
      const Status done = work(index);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (first) first = done;
      next = count;
    }
  };
  run_on_threads(std::min(slots.size(), count), run);
  return first;
}

class MutationRun {
 public:
  MutationRun(MutationMachinery machinery, const OpConfig& op, const MutationOptions& options,
              const std::atomic<bool>& cancel)
      : machinery_(machinery),
        config_(machinery.config),
        op_(op),
        options_(options),
        cancel_(cancel) {}

  Result<MutationReportReply> run(const MutationEvents& events) {
    const auto start = Clock::now();
    GPUEMU_TRY(prepare());
    reports_.resize(mutants_.size());
    events.on_total(mutants_.size());
    GPUEMU_TRY(run_baseline());
    std::mutex mutex;
    const auto judge_one = [&](size_t index) -> Status {
      GPUEMU_TRY(judge(index));
      const std::lock_guard lock(mutex);
      events.on_mutant(reports_[index]);
      return ok_status();
    };
    GPUEMU_TRY(on_all_slots(machinery_.slots, mutants_.size(), judge_one));
    GPUEMU_TRY(examine_survivors());
    MutationReportReply reply = summary();
    reply.duration_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
    return reply;
  }

 private:
  bool is_over() const {
    return cancel_ || (options_.deadline && Clock::now() >= *options_.deadline);
  }

  Status prepare() {
    GPUEMU_TRY(check_mutations(options_.mutations));
    kernel_ = choose_kernel(config_, op_, options_.kernel);
    if (kernel_ == nullptr) {
      return error(ErrorCode::InvalidArgument, "op '{}' has no kernel{} to plant mistakes into",
                   op_.name, options_.kernel.empty() ? "" : " '" + options_.kernel + "'");
    }
    dtype_ = options_.dtype.value_or(op_.dtypes.front());
    if (std::ranges::find(op_.dtypes, dtype_) == op_.dtypes.end()) {
      return error(ErrorCode::InvalidArgument, "op '{}' does not list dtype {}", op_.name,
                   name_of(dtype_));
    }
    original_ = GPUEMU_TRY(machinery_.kernels.prepare(*kernel_, dtype_));
    const ptx::Module module = GPUEMU_TRY(ptx::parse(original_->ptx, original_->name));
    mutants_ = find_mutants(original_->ptx, module, original_->entries, options_.mutations);
    found_ = mutants_.size();
    mutants_ = choose_mutants(std::move(mutants_), options_.mutants_max, options_.seed);
    const uint64_t cases = options_.cases > 0 ? options_.cases : config_.cases;
    plans_ = GPUEMU_TRY(configured_cases(
        config_, {op_, *kernel_, dtype_, options_.seed, original_->constants}, cases));
    return ok_status();
  }

  Result<CaseReport> run_one(const PreparedKernel& prepared, const CasePlan& plan,
                             const CaseSettings& settings) const {
    const uint64_t bytes = GPUEMU_TRY(device_bytes_of(*kernel_, op_, plan));
    const auto memory = GPUEMU_TRY(MemoryHold::take(options_.claim, bytes));
    auto lease = machinery_.slots.acquire(options_.claim);
    if (!lease) return lease.error();
    lease->count_memory(bytes);
    Slot& slot = **lease;
    return run_case({config_, op_, *kernel_, prepared, plan, settings}, slot);
  }

  /// Runs the kernel itself, which must pass; its slowest case determines the time limit of
  /// mutants.
  Status run_baseline() {
    std::vector<std::optional<CaseReport>> outcomes(plans_.size());
    const auto run_plan = [&](size_t index) -> Status {
      if (is_over()) return ok_status();
      outcomes[index] = GPUEMU_TRY(run_one(*original_, plans_[index], {}));
      return ok_status();
    };
    GPUEMU_TRY(on_all_slots(machinery_.slots, plans_.size(), run_plan));
    uint64_t slowest = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i]) continue;
      slowest = std::max(slowest, outcomes[i]->result.duration_ms);
      if (outcomes[i]->result.passed) continue;
      const ValidationFailure& failure = outcomes[i]->result.failures.front();
      return error(ErrorCode::InvalidArgument,
                   "kernel '{}' fails by itself: case {} finds {} ({}). A mutation score needs a "
                   "kernel that passes: see `gpuemu test {}`",
                   kernel_->name, plans_[i].case_seed, name_of(failure.kind), failure.message,
                   shell_word(op_.name));
    }
    config_.case_timeout_ms =
        std::min(config_.case_timeout_ms, std::max(kTimeoutMsMin, kSlowdownMax * slowest));
    return ok_status();
  }

  /// Returns the kernel's text with the mistake in it; findings do not name the original.
  PreparedKernel prepared_with(const Mutant& mutant) const {
    PreparedKernel changed = *original_;
    changed.ptx = with_mutant(original_->ptx, mutant);
    changed.key = content_hash({changed.ptx});
    return changed;
  }

  Status judge(size_t index) {
    const Mutant& mutant = mutants_[index];
    MutantReport& report = reports_[index];
    report = {.id = mutant.id,
              .mutation = mutant.mutation,
              .entry = mutant.entry,
              .file = mutant.file,
              .line = mutant.line,
              .ptx_line = mutant.ptx_line,
              .before = mutant.before,
              .after = mutant.after,
              .status = MutantStatus::NotRun};
    if (is_over()) return ok_status();
    const PreparedKernel changed = prepared_with(mutant);
    if (const auto parsed = ptx::parse(changed.ptx, "mutant"); !parsed) {
      report.status = MutantStatus::Invalid;
      report.reason = parsed.error().message;
      return ok_status();
    }
    for (const CasePlan& plan : plans_) {
      if (cancel_) return ok_status();
      const CaseReport outcome = GPUEMU_TRY(run_one(changed, plan, {}));
      ++report.cases;
      if (outcome.result.passed) continue;
      const ValidationFailure& failure = outcome.result.failures.front();
      const bool refused = failure.kind == FindingKind::LaunchError;
      report.status = refused ? MutantStatus::Invalid : MutantStatus::Killed;
      if (refused) {
        report.reason = failure.message;
      } else {
        report.killed_by = name_of(failure.kind);
      }
      return ok_status();
    }
    report.status = MutantStatus::Survived;
    return ok_status();
  }

  /// Runs the surviving mutants on every kind of input, until one kills them or all show no
  /// difference.
  Status examine_survivors() {
    std::vector<size_t> survivors;
    for (size_t i = 0; i < reports_.size(); ++i) {
      if (reports_[i].status == MutantStatus::Survived) survivors.push_back(i);
    }
    if (survivors.empty() || is_over()) return ok_status();
    const auto all = GPUEMU_TRY(
        every_kind_of_case({op_, *kernel_, dtype_, options_.seed, original_->constants}));
    std::vector<std::optional<CaseReport>> expected(all.size());
    const auto run_other = [&](size_t index) -> Status {
      if (is_over()) return ok_status();
      CaseReport outcome = GPUEMU_TRY(run_one(*original_, all[index], {.extras = Extra::Tensors}));
      if (outcome.result.passed) expected[index] = std::move(outcome);
      return ok_status();
    };
    GPUEMU_TRY(on_all_slots(machinery_.slots, all.size(), run_other));
    return on_all_slots(machinery_.slots, survivors.size(),
                        [&](size_t index) { return examine(survivors[index], all, expected); });
  }

  Status examine(size_t index, const std::vector<CasePlan>& all,
                 const std::vector<std::optional<CaseReport>>& expected) {
    MutantReport& report = reports_[index];
    const PreparedKernel changed = prepared_with(mutants_[index]);
    uint64_t compared = 0;
    std::vector<size_t> differing;
    double largest_use = 0, own_use = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (is_over()) {
        report.reason = fmt::format("time ran out after {} of {} other cases", i, all.size());
        return ok_status();
      }
      if (!expected[i]) continue;
      const CaseReport outcome = GPUEMU_TRY(run_one(changed, all[i], {.extras = Extra::Tensors}));
      if (!outcome.result.passed) {
        report.killing_strategy = name_of(all[i].value_strategy);
        report.killing_shape_strategy = name_of(all[i].shape_strategy);
        report.killing_dims = all[i].dims;
        report.reason = fmt::format("{}: {}", name_of(outcome.result.failures.front().kind),
                                    outcome.result.failures.front().message);
        return ok_status();
      }
      ++compared;
      if (outcome.extras.tensors->outputs != expected[i]->extras.tensors->outputs) {
        differing.push_back(i);
      }
      largest_use = std::max(largest_use, outcome.bound_ratio_max);
      own_use = std::max(own_use, expected[i]->bound_ratio_max);
    }
    if (compared == 0) return ok_status();
    if (differing.empty()) {
      report.status = MutantStatus::Equivalent;
      report.reason = fmt::format(
          "probably equivalent: {} cases of every kind give the same outputs bit for bit",
          compared);
      return ok_status();
    }
    report.reason = fmt::format(
        "outputs differ in {} of {} other cases, by at most {:.2g} of what the tolerance allows",
        differing.size(), compared, largest_use);
    if (largest_use > kNoWorse * own_use || !GPUEMU_TRY(rounds_alone(changed, all, differing))) {
      return ok_status();
    }
    report.status = MutantStatus::Equivalent;
    report.reason = fmt::format(
        "probably equivalent: only the rounding of the outputs differs, in {} of {} cases of every "
        "kind; without it they are the same to a sixteenth of the tolerance, and no error is "
        "larger than the kernel's own",
        differing.size(), compared);
    return ok_status();
  }

  /// Returns whether kernel and mutant give the same values if nothing but outputs is rounded.
  Result<bool> rounds_alone(const PreparedKernel& changed, const std::vector<CasePlan>& all,
                            const std::vector<size_t>& differing) const {
    const CaseSettings exactly{.extras = Extra::Shadows, .shadow = {.output = {}}};
    for (size_t i = 0; i < std::min(differing.size(), kExactCasesMax); ++i) {
      if (is_over()) return false;
      // Spread over all sizes; the first cases are the smallest.
      const size_t step = std::max<size_t>(1, differing.size() / kExactCasesMax);
      const CasePlan& plan = all[differing[i * step]];
      const CaseReport mutant = GPUEMU_TRY(run_one(changed, plan, exactly));
      const CaseReport own = GPUEMU_TRY(run_one(*original_, plan, exactly));
      const CaseRequest request{config_, op_, *kernel_, *original_, plan};
      if (!same_without_rounding(request, own, mutant)) return false;
    }
    return true;
  }

  MutationReportReply summary() {
    MutationReportReply reply;
    reply.op_name = op_.name;
    reply.kernel = kernel_->name;
    reply.dtype = dtype_;
    reply.seed = options_.seed;
    reply.cases = plans_.size();
    reply.found = found_;
    reply.total = reports_.size();
    for (const MutantReport& one : reports_) {
      reply.killed += one.status == MutantStatus::Killed ? 1 : 0;
      reply.survived += one.status == MutantStatus::Survived ? 1 : 0;
      reply.equivalent += one.status == MutantStatus::Equivalent ? 1 : 0;
      reply.invalid += one.status == MutantStatus::Invalid ? 1 : 0;
      reply.not_run += one.status == MutantStatus::NotRun ? 1 : 0;
    }
    const uint64_t judged = reply.killed + reply.survived;
    if (judged > 0) reply.score = static_cast<double>(reply.killed) / static_cast<double>(judged);
    if (reply.not_run > 0) {
      reply.incomplete =
          fmt::format("the time was up before {} of {} {} run", reply.not_run,
                      counted(reply.total, "mutant"), reply.not_run == 1 ? "was" : "were");
    }
    reply.mutants = std::move(reports_);
    return reply;
  }

  const MutationMachinery machinery_;
  Config config_;  // A copy with a watchdog of its own.
  const OpConfig& op_;
  const MutationOptions& options_;
  const std::atomic<bool>& cancel_;
  const KernelConfig* kernel_ = nullptr;
  DType dtype_ = DType::Float32;
  std::shared_ptr<const PreparedKernel> original_;
  std::vector<Mutant> mutants_;
  uint64_t found_ = 0;
  std::vector<CasePlan> plans_;
  std::vector<MutantReport> reports_;  // Each written by the one thread that has its number.
};

}  // namespace

Result<MutationReportReply> run_mutation(MutationMachinery machinery, const OpConfig& op,
                                         const MutationOptions& options,
                                         const MutationEvents& events,
                                         const std::atomic<bool>& cancel) {
  return MutationRun(machinery, op, options, cancel).run(events);
}

}  // namespace gpuemu
