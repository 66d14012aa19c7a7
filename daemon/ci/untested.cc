#include "daemon/ci/untested.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "common/config/names.h"
#include "daemon/campaign/unused_variants.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

// The most lines of one kind in a report.
constexpr size_t kLinesMax = 20;

/// Returns the warning of `gpuemu config check` for a kernel that has the data of an op but is not
/// a complete one; null if there is none. The warning points to the missing key.
const ConfigProblem* missing_key(const Config& config, size_t kernel) {
  const std::string table = fmt::format("kernels[{}].", kernel);
  for (const char* key : {"launches", "outputs", "source"}) {
    const auto found = std::ranges::find(config.warnings, table + key, &ConfigProblem::key);
    if (found != config.warnings.end()) return &*found;
  }
  return nullptr;
}

CiOp not_run(const Config& config, const KernelConfig& kernel, const std::string& why) {
  CiOp op;
  op.op_name = kernel.name;
  op.dtype = config.dtypes.empty() ? DType::Float32 : config.dtypes.front();
  op.kernel = kernel.name;
  op.error = why;
  op.file = kernel.file;
  op.line = kernel.line;
  return op;
}

/// `one` and `many` end the sentence about those that are not listed.
void add_notes(const std::vector<std::string>& lines, const char* one, const char* many,
               CiRunSummary& summary) {
  const size_t shown = std::min(lines.size(), kLinesMax);
  summary.notes.insert(summary.notes.end(), lines.begin(),
                       lines.begin() + static_cast<std::ptrdiff_t>(shown));
  if (lines.size() > shown) {
    const size_t left = lines.size() - shown;
    summary.notes.push_back(fmt::format("{} more {}", left, left == 1 ? one : many));
  }
}

void tell_kernels(const Config& config, CiRunSummary& summary) {
  std::set<std::string> used;
  for (const OpConfig& op : config.ops) used.insert(op.kernels.begin(), op.kernels.end());
  std::vector<std::string> lines;
  for (size_t i = 0; i < config.kernels.size(); ++i) {
    const KernelConfig& kernel = config.kernels[i];
    if (used.contains(kernel.name)) continue;
    if (const ConfigProblem* problem = missing_key(config, i)) {
      summary.ops.push_back(not_run(config, kernel, problem->message));
      continue;
    }
    lines.push_back(fmt::format("kernel {}: measured, not run: it has no {}, and no op names it",
                                kernel.name, kernel.launches.empty() ? "launches" : "outputs"));
  }
  add_notes(lines, "kernel is measured and not run", "kernels are measured and not run", summary);
}

/// Returns the invariants and relations that check values, of all variants.
std::set<std::string> value_judges(const Config& config, const OpConfig& op) {
  std::set<std::string> judges;
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config.find_kernel(name);
    if (kernel == nullptr) continue;
    for (const InvariantSpec& one : relations_of(op, *kernel)) judges.emplace(name_of(one.kind));
    for (const InvariantSpec& one : invariants_of(op, *kernel)) judges.emplace(name_of(one.kind));
  }
  std::erase_if(judges, [](const std::string& name) { return !sees_values(name); });
  return judges;
}

void tell_ops(const Config& config, CiRunSummary& summary) {
  std::vector<std::string> lines;
  for (const OpConfig& op : config.ops) {
    if (op.mode != ExecutionMode::Kernel || !op.reference.empty()) continue;
    const std::set<std::string> judges = value_judges(config, op);
    lines.push_back(
        judges.empty()
            ? fmt::format(
                  "op {}: nothing compares its values: it has no reference, and no relation "
                  "or invariant that looks at them",
                  op.name)
            : fmt::format("op {}: no value is compared with an expected one: it has no reference, "
                          "and is judged by {}",
                          op.name, fmt::join(judges, ", ")));
  }
  add_notes(lines, "op has no reference", "ops have no reference", summary);
}

void tell_variants(const CiMachine& machine, const CiOptions& options, CiRunSummary& summary) {
  for (const OpConfig& op : machine.config.ops) {
    const auto constants = [&](DType dtype) { return machine.campaign.constants_of(op, dtype); };
    for (const std::string& name :
         unreachable_variants(machine.config, op, options.seed,
                              machine.campaign.large_sizes_of(op, op.dtypes.front()), constants)) {
      const KernelConfig& kernel = *machine.config.find_kernel(name);
      summary.ops.push_back(not_run(machine.config, kernel,
                                    fmt::format("variant of op {}: {}", op.name, kUnreachable)));
    }
  }
}

}  // namespace

std::string owner_of(const std::string& name) { return name.substr(0, name.find(':')); }

void add_untested_notes(const CiMachine& machine, const CiOptions& options, CiRunSummary& summary) {
  tell_kernels(machine.config, summary);
  tell_ops(machine.config, summary);
  tell_variants(machine, options, summary);
}

Status check_baseline(const Config& config, const CiOptions& options) {
  if (options.baseline_name.empty()) return ok_status();
  const bool shares_kernel =
      std::ranges::any_of(options.baseline_artifacts, [&](const ArtifactMetrics& one) {
        return config.find_kernel(owner_of(one.kernel_name)) != nullptr;
      });
  const bool shares_op = std::ranges::any_of(
      options.baseline_results,
      [&](const ValidationResult& one) { return config.find_op(one.op_name) != nullptr; });
  const bool empty = options.baseline_artifacts.empty() && options.baseline_results.empty();
  if (empty || shares_kernel || shares_op) return ok_status();
  return error(ErrorCode::Unsupported,
               "baseline {} has no kernel and no op of {}, so it is of another project; name the "
               "right one (`gpuemu baseline list`), or save it again with `gpuemu baseline save`",
               options.baseline_name, config.file);
}

std::vector<std::string> missing_ops(const Config& config, const CiOptions& options) {
  std::set<std::string> missing;
  for (const ValidationResult& one : options.baseline_results) {
    if (config.find_op(one.op_name) == nullptr) missing.insert(one.op_name);
  }
  return {missing.begin(), missing.end()};
}

}  // namespace gpuemu
