#include "daemon/ci/ci_run.h"

#include <algorithm>
#include <set>
#include <thread>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/threads.h"
#include "common/protocol/op_state.h"
#include "daemon/ci/ci_tests.h"
#include "daemon/ci/compare_results.h"
#include "daemon/ci/metric_history.h"
#include "daemon/ci/untested.h"
#include "judge/metrics/compare.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

/// Measures the kernels of this shard, as many in parallel as permitted.
class Measurer {
 public:
  Measurer(const CiMachine& machine, const CiOptions& options, const CiEvents& events,
           const std::atomic<bool>& cancel)
      : machine_(machine), options_(options), events_(events), cancel_(cancel) {}

  void run() {
    const std::vector<KernelConfig>& kernels = machine_.config.kernels;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (is_in_shard(i, options_.shard, options_.shards)) mine_.push_back(&kernels[i]);
    }
    results_.resize(mine_.size());
    std::atomic<size_t> next{0}, ready{0};
    const auto work = [&] {
      for (size_t i = next++; i < mine_.size() && !cancel_; i = next++) {
        results_[i] = measure(*mine_[i]);
        if (events_.compiling) events_.compiling(++ready, mine_.size());
      }
    };
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const size_t threads = options_.threads_max > 0 ? options_.threads_max : cores;
    run_on_threads(std::min(threads, mine_.size()), work);
  }

  /// Fails if a measurement cannot be stored for `gpuemu artifacts`.
  Status add_to(CiRunSummary& summary) {
    summary.kernels_cached = cached_;
    const auto left = std::ranges::count_if(results_, &std::vector<LintResult>::empty);
    if (cancel_ && left > 0) {
      summary.notes.push_back(fmt::format("interrupted: {} of {} {} not measured", left,
                                          counted(mine_.size(), "kernel"),
                                          left == 1 ? "was" : "were"));
    }
    for (std::vector<LintResult>& results : results_) {
      for (LintResult& one : results) {
        const bool measured = one.metrics.ptx || !one.metrics.compiled.empty();
        if (measured && one.error.empty()) GPUEMU_TRY(machine_.store.put_artifact(one.metrics));
        summary.lint_results.push_back(std::move(one));
      }
    }
    return ok_status();
  }

 private:
  std::vector<LintResult> measure(const KernelConfig& kernel) {
    VerdictCache cache(machine_.store);
    std::optional<std::string> key;
    if (options_.cached) {
      key = fingerprint_of(machine_.config, kernel, machine_.inspect, {machine_.identity});
    }
    if (key) {
      if (auto kept = cache.kernel(kernel.name, *key)) {
        cached_ += kept->size();
        return *std::move(kept);
      }
    }
    auto results = inspect_kernel(machine_.config, kernel, machine_.inspect);
    const bool good = std::ranges::all_of(
        results, [](const LintResult& one) { return one.passed && one.error.empty(); });
    if (key && good) {
      // A measurement that could not be stored is simply repeated next time.
      const Status kept = cache.keep(kernel.name, results, *key);
      if (!kept) events_.warn(kept.error().message);
    }
    return results;
  }

  const CiMachine& machine_;
  const CiOptions& options_;
  const CiEvents& events_;
  const std::atomic<bool>& cancel_;
  std::vector<const KernelConfig*> mine_;
  std::vector<std::vector<LintResult>> results_;
  std::atomic<uint64_t> cached_{0};
};

/// Reports what is missing as a regression: a test that was removed finds nothing.
void add_missing(const CiMachine& machine, const CiOptions& options, ArtifactDiffSummary& diffs) {
  if (is_in_shard(0, options.shard, options.shards)) {
    for (std::string& op : missing_ops(machine.config, options)) {
      if (std::ranges::find(diffs.missing, op) == diffs.missing.end()) {
        diffs.missing.push_back(std::move(op));
      }
    }
  }
  diffs.has_regressions = diffs.has_regressions || !diffs.missing.empty();
}

void compare_kernels(const CiMachine& machine, const CiOptions& options, CiRunSummary& summary) {
  const Config& config = machine.config;
  std::vector<ArtifactMetrics> before, now;
  for (const ArtifactMetrics& one : options.baseline_artifacts) {
    const KernelConfig* kernel = config.find_kernel(owner_of(one.kernel_name));
    // The first shard reports kernels that are gone from gpuemu.toml.
    const auto index =
        kernel == nullptr ? 0 : static_cast<uint64_t>(kernel - config.kernels.data());
    if (is_in_shard(index, options.shard, options.shards)) before.push_back(one);
  }
  for (const LintResult& one : summary.lint_results) {
    if (one.error.empty()) now.push_back(one.metrics);
  }
  summary.artifact_diffs = compare_all(before, now, config.warn_threshold);
  summary.artifact_diffs->baseline_tag = options.baseline_name;
}

void compare_cases(const CiOptions& options, CiRunSummary& summary) {
  std::vector<ValidationResult> baseline = options.baseline_results;
  sort_baseline(baseline);
  for (const ValidationResult& current : summary.validation_results) {
    // Cases with different inputs cannot be compared.
    const ValidationResult* old = same_case(baseline, current);
    if (old != nullptr) summary.result_diffs.push_back(compare_result(current, old));
  }
}

/// Fails a cancelled run: the work that it did not reach is no success.
void mark_interrupted(const CiOptions& options, CiRunSummary& summary) {
  const uint64_t share = options.cases / std::max<uint64_t>(1, options.shards);
  for (CiOp& op : summary.ops) {
    const bool stopped = op.state == OpState::Ran || op.state == OpState::Stopped;
    if (!op.error.empty() || op.cached || !stopped) continue;
    const uint64_t ran = op.cases - std::min(op.replayed, op.cases);
    if (ran >= share && op.state == OpState::Ran) continue;
    set_op_state(op, OpState::Ran, "");
    op.error = fmt::format("interrupted after {} of {}", ran, counted(share, "case"));
  }
}

/// Fails ops without any case. A dtype that no kernel takes may be left out, but an op of which
/// nothing ran is a mistake, and CI would stay green for ever. In a shard, other shards may have
/// run its cases.
void blame_ops_without_cases(const CiOptions& options, CiRunSummary& summary) {
  if (options.cases == 0 || options.shards > 1) return;
  std::set<std::string> ran;
  for (const CiOp& op : summary.ops) {
    if (op.state != OpState::NoVariantFits) ran.insert(op.op_name);
  }
  for (CiOp& op : summary.ops) {
    if (ran.contains(op.op_name)) continue;
    set_op_state(op, OpState::Ran, "");
    op.error = std::string(kUnsupported) + kUnsupportedRemedy;
  }
}

/// Compiles for the tests and the measurements together; otherwise whichever starts first would
/// compile only its own.
void compile_all(const CiMachine& machine, const CiEvents& events) {
  std::vector<const KernelConfig*> kernels;
  for (const KernelConfig& kernel : machine.config.kernels) kernels.push_back(&kernel);
  compile_to_inspect(machine.config, kernels, machine.inspect, [&](size_t ready) {
    if (events.compiling) events.compiling(ready, kernels.size());
  });
}

void count(CiRunSummary& summary) {
  for (const CiOp& op : summary.ops) {
    summary.total_tests += op.cases;
    summary.passed += op.passed;
    summary.failed += op.failed;
    if (op.state != OpState::Ran) ++summary.skipped;
  }
  for (const LintResult& one : summary.lint_results) {
    ++summary.total_tests;
    ++(one.passed ? summary.passed : summary.failed);
  }
}

}  // namespace

Result<CiRunSummary> run_ci(const CiMachine& machine, const CiOptions& options,
                            const CiEvents& events, const std::atomic<bool>& cancel) {
  const auto start = Clock::now();
  GPUEMU_TRY(check_baseline(machine.config, options));
  CiRunSummary summary;
  summary.profile = name_of(options.profile);
  summary.seed = options.seed;
  summary.shard = options.shard;
  summary.shards = options.shards;
  summary.regressions_pass = !machine.config.fail_on_regression;
  summary.timestamp = now_seconds();
  CiTests tests(machine, options, events, cancel);
  Measurer measurer(machine, options, events, cancel);
  compile_all(machine, events);
  Status tested;
  {
    std::jthread measuring([&] { measurer.run(); });
    tested = tests.run(summary);
  }
  if (!tested) return tested.error();
  GPUEMU_TRY(measurer.add_to(summary));
  if (!options.baseline_name.empty()) {
    compare_kernels(machine, options, summary);
    if (!cancel) add_missing(machine, options, *summary.artifact_diffs);
    compare_cases(options, summary);
  }
  summary.trends =
      GPUEMU_TRY(follow_metrics(machine.store, {options.baseline_name, options.baseline_artifacts},
                                summary.lint_results, summary.timestamp));
  if (cancel) {
    mark_interrupted(options, summary);
  } else {
    blame_ops_without_cases(options, summary);
  }
  add_untested_notes(machine, options, summary);
  count(summary);
  summary.duration_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  return summary;
}

}  // namespace gpuemu
