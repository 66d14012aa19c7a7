#include "judge/metrics/compare.h"

#include <algorithm>

#include <fmt/core.h>

#include "judge/metrics/counts.h"

namespace gpuemu {
namespace {

/// A number before and after.
struct Number {
  const char* metric;
  double before, after;
  bool decides = false;  // Growth is a regression.
  bool high_is_good = false;
};

class Changes {
 public:
  Changes(double warn_threshold, std::vector<MetricChange>& out)
      : warn_threshold_(warn_threshold), out_(out) {}

  void add(const Number& number, const std::string& arch) {
    if (number.before == number.after) return;
    MetricChange change{number.metric, arch, number.before, number.after, std::nullopt, {}};
    const double increase = number.after - number.before;
    if (number.before != 0) change.percent = 100 * increase / number.before;
    const bool worse = (increase > 0) != number.high_is_good;
    const bool large = number.before == 0 || std::abs(increase) / number.before > warn_threshold_;
    change.verdict = !worse           ? MetricVerdict::Improvement
                     : number.decides ? MetricVerdict::Regression
                     : large          ? MetricVerdict::Warning
                                      : MetricVerdict::Change;
    out_.push_back(std::move(change));
  }

 private:
  const double warn_threshold_;
  std::vector<MetricChange>& out_;
};

double spills_of(const CompiledMetrics& one) {
  return static_cast<double>(one.spill_store_bytes) + one.spill_load_bytes;
}

/// Metrics written by an older gpuemu lack control flow; code that has any has at least one exit.
void compare_control(const Counts& before, const Counts& after, const std::string& arch,
                     Changes& changes) {
  if (before.empty() || after.empty()) return;
  for (const char* name : {"branches", "loops", "calls", "predicated exits"}) {
    const auto count = [name](const Counts& counts) {
      const auto found = counts.find(name);
      return found == counts.end() ? 0.0 : double(found->second);
    };
    changes.add({name, count(before), count(after)}, arch);
  }
}

void compare_compiled(const CompiledMetrics& before, const CompiledMetrics& after,
                      Changes& changes) {
  const Number numbers[] = {
      {"registers", double(before.registers), double(after.registers), true},
      {"spill bytes", spills_of(before), spills_of(after), true},
      {"stack bytes", double(before.stack_bytes), double(after.stack_bytes), true},
      {"shared bytes", double(before.shared_bytes), double(after.shared_bytes)},
      {"barriers", double(before.barriers), double(after.barriers)},
  };
  for (const Number& number : numbers) changes.add(number, after.arch);
  if (before.occupancy && after.occupancy) {
    changes.add({"occupancy", before.occupancy->fraction, after.occupancy->fraction, false, true},
                after.arch);
  }
  if (before.sass_instructions > 0 && after.sass_instructions > 0) {
    changes.add(
        {"machine instructions", double(before.sass_instructions), double(after.sass_instructions)},
        after.arch);
    compare_control(before.sass_control, after.sass_control, after.arch, changes);
  }
}

void compare_constants(const Counts& before, const Counts& after, std::vector<std::string>& out) {
  for (const auto& [literal, count] : before) {
    if (!after.contains(literal)) out.push_back(fmt::format("{} is gone", literal));
  }
  for (const auto& [literal, count] : after) {
    if (!before.contains(literal)) out.push_back(fmt::format("{} is new", literal));
  }
}

/// Compares the architectures that both sides have. Returns false if there are none.
bool compare_all_archs(const ArtifactMetrics& baseline, const ArtifactMetrics& current,
                       Changes& changes) {
  bool any = false;
  for (const CompiledMetrics& after : current.compiled) {
    const auto before = std::ranges::find(baseline.compiled, after.arch, &CompiledMetrics::arch);
    if (before == baseline.compiled.end()) continue;
    compare_compiled(*before, after, changes);
    any = true;
  }
  return any;
}

int64_t delta(uint32_t before, uint32_t after) { return int64_t{after} - int64_t{before}; }

}  // namespace

ArtifactDiff compare_artifacts(const ArtifactMetrics* baseline, const ArtifactMetrics& current,
                               double warn_threshold) {
  ArtifactDiff diff;
  diff.kernel_name = current.kernel_name;
  diff.current = current;
  if (baseline == nullptr) return diff;
  diff.baseline = *baseline;
  diff.register_delta = delta(baseline->register_count, current.register_count);
  diff.spill_delta = delta(baseline->spill_count, current.spill_count);
  diff.local_memory_delta = delta(baseline->local_memory_bytes, current.local_memory_bytes);
  diff.instruction_delta = delta(baseline->instruction_count, current.instruction_count);
  Changes changes(warn_threshold, diff.changes);
  const bool compiled = compare_all_archs(*baseline, current, changes);
  const Number numbers[] = {
      {"virtual registers", double(baseline->register_count), double(current.register_count),
       !compiled},
      {"local accesses", double(baseline->spill_count), double(current.spill_count), !compiled},
      {"local bytes", double(baseline->local_memory_bytes), double(current.local_memory_bytes),
       !compiled},
      {"instructions", double(baseline->instruction_count), double(current.instruction_count)},
  };
  for (const Number& number : numbers) changes.add(number, "");
  if (baseline->ptx && current.ptx) {
    compare_constants(baseline->ptx->constants, current.ptx->constants, diff.constants);
  }
  diff.is_regression = std::ranges::any_of(diff.changes, [](const MetricChange& one) {
    return one.verdict == MetricVerdict::Regression;
  });
  return diff;
}

ArtifactDiffSummary compare_all(const std::vector<ArtifactMetrics>& baseline,
                                const std::vector<ArtifactMetrics>& current,
                                double warn_threshold) {
  ArtifactDiffSummary summary;
  for (const ArtifactMetrics& one : current) {
    const auto before = std::ranges::find(baseline, one.kernel_name, &ArtifactMetrics::kernel_name);
    summary.diffs.push_back(
        compare_artifacts(before == baseline.end() ? nullptr : &*before, one, warn_threshold));
    summary.has_regressions = summary.has_regressions || summary.diffs.back().is_regression;
  }
  for (const ArtifactMetrics& one : baseline) {
    if (std::ranges::find(current, one.kernel_name, &ArtifactMetrics::kernel_name) ==
        current.end()) {
      summary.missing.push_back(one.kernel_name);
    }
  }
  return summary;
}

}  // namespace gpuemu
