#include "cli/report/lint.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/report/text.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// Machine code alone does not show spills.
bool knows_spills(const ArtifactMetrics& metrics) { return metrics.source != ArtifactSource::Sass; }

std::string numbers_of(const CompiledMetrics& one, bool with_spills) {
  std::string text = counted(one.registers, "register");
  if (with_spills) {
    text += ", " + counted(one.spill_store_bytes + one.spill_load_bytes, "byte") + " spilled";
  }
  text += fmt::format(", {} stack, {} shared", one.stack_bytes, one.shared_bytes);
  if (one.occupancy) {
    text += fmt::format(", occupancy {:.2f} at {}", one.occupancy->fraction,
                        counted(one.occupancy->threads, "thread"));
  }
  if (one.sass_instructions > 0) text += ", " + counted(one.sass_instructions, "instruction");
  return text;
}

std::string numbers_of(const ArtifactMetrics& metrics) {
  if (!metrics.ptx) return counted(metrics.instruction_count, "instruction");
  return fmt::format("{}, {}, {}, {} shared", counted(metrics.ptx->instructions, "PTX instruction"),
                     counted(metrics.register_count, "virtual register"),
                     counted(metrics.ptx->loops, "loop"), metrics.ptx->shared_bytes);
}

std::string list_of(const std::map<std::string, uint32_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "none" : text;
}

void print_details(const ArtifactMetrics& metrics, std::ostream& out) {
  const auto line = [&](const char* name, const std::string& value) {
    out << fmt::format("    {:<19}{}\n", name, one_line(value));
  };
  if (metrics.ptx) {
    const PtxMetrics& ptx = *metrics.ptx;
    line("entry",
         fmt::format(
             "{} for {}{}", ptx.entry, ptx.target,
             ptx.source_line > 0 ? fmt::format(", {}:{}", ptx.source_file, ptx.source_line) : ""));
    line("virtual registers", list_of(ptx.registers));
    line("instructions", list_of(ptx.classes));
    line("loads", list_of(ptx.loads));
    line("stores", list_of(ptx.stores));
    line("special functions", list_of(ptx.special_functions));
    line("barriers", fmt::format("{}, atomics {}, tensor-core products {}", ptx.barriers,
                                 ptx.atomics, ptx.tensor_ops));
    line("rounding", fmt::format("{} with .ftz, {} approximate", ptx.ftz, ptx.approx));
    line("branches", fmt::format("{} conditional, {}", ptx.branches,
                                 ptx.divergent_branches == 0
                                     ? "none can diverge"
                                     : fmt::format("{} may diverge", ptx.divergent_branches)));
    line("loops", fmt::format("{}, nested {} deep", ptx.loops, ptx.loop_depth));
    line("memory",
         fmt::format("{} shared{}, {} local, {} constant", ptx.shared_bytes,
                     ptx.dynamic_shared ? " and dynamic" : "", ptx.local_bytes, ptx.const_bytes));
  }
  for (const CompiledMetrics& one : metrics.compiled) {
    line(one.arch.c_str(),
         fmt::format("{} barriers, constant banks: {}", one.barriers, list_of(one.constant_bytes)));
    if (one.occupancy) {
      line("occupancy", fmt::format("{} blocks, {} of {} warps, limited by {}",
                                    one.occupancy->blocks, one.occupancy->warps,
                                    one.occupancy->warps_max, name_of(one.occupancy->limiter)));
    }
    if (one.sass_instructions == 0) continue;
    line("machine code", list_of(one.sass_classes));
    line("control flow", list_of(one.sass_control));
  }
}

bool is_measured(const LintResult& result) {
  return result.metrics.ptx.has_value() || !result.metrics.compiled.empty();
}

/// Returns the verdict on one architecture; "" means all.
const char* verdict_on(const std::string& arch, const LintResult& result) {
  const bool fails = std::ranges::any_of(result.violations, [&](const LintViolation& one) {
    return arch.empty() || one.arch.empty() || one.arch == arch;
  });
  return fails ? "FAIL" : "PASS";
}

void print_kernel(const LintResult& result, bool details, std::ostream& out) {
  const std::string name = one_line(result.kernel_name);
  if (!result.error.empty()) {
    out << fmt::format("[ERROR] {}: {}\n", name, one_line(result.error));
    return;
  }
  if (result.metrics.compiled.empty()) {
    out << fmt::format("[{}] {}: {}\n", !is_measured(result) ? "SKIP" : verdict_on("", result),
                       name, is_measured(result) ? numbers_of(result.metrics) : "not measured");
  }
  for (const CompiledMetrics& one : result.metrics.compiled) {
    out << fmt::format("[{}] {} {}: {}\n", verdict_on(one.arch, result), name, one.arch,
                       numbers_of(one, knows_spills(result.metrics)));
  }
  for (const LintViolation& violation : result.violations) {
    out << fmt::format("    {}: {}", name_of(violation.kind), one_line(violation.message));
    const std::string place = fmt::format("{}:{}", violation.source_file, violation.source_line);
    if (violation.source_line > 0 && violation.message.find(place) == std::string::npos) {
      out << " at " << one_line(place);
    }
    out << '\n';
  }
  if (details) print_details(result.metrics, out);
}

void print_not_checked(const std::vector<LintResult>& results, std::ostream& out) {
  std::map<std::string, size_t> reasons;
  for (const LintResult& result : results) {
    for (const std::string& reason : result.not_checked) ++reasons[reason];
  }
  for (const auto& [reason, kernels] : reasons) {
    out << fmt::format("not checked for {}: {}\n", counted(kernels, "kernel"), one_line(reason));
  }
}

}  // namespace

void print_metrics(const ArtifactMetrics& metrics, bool details, std::ostream& out) {
  const std::string name = one_line(metrics.kernel_name);
  if (metrics.compiled.empty()) out << fmt::format("{}: {}\n", name, numbers_of(metrics));
  for (const CompiledMetrics& one : metrics.compiled) {
    out << fmt::format("{} {}: {}\n", name, one.arch, numbers_of(one, knows_spills(metrics)));
  }
  if (details) print_details(metrics, out);
}

void print_new_limits(const std::vector<LintResult>& results, std::ostream& out) {
  for (const LintResult& result : results) {
    std::map<std::string, uint64_t> most;
    std::optional<double> least_occupancy;
    for (const LintViolation& one : result.violations) {
      if (one.actual && one.threshold && !one.check.empty()) {
        most[one.check] = std::max(most[one.check], *one.actual);
      } else if (one.check == "min_occupancy" && one.value) {
        least_occupancy = std::min(least_occupancy.value_or(1), *one.value);
      }
    }
    if (most.empty() && !least_occupancy) continue;
    out << fmt::format("\n# What {} has, to accept it:\n[kernels.artifact_checks]\n",
                       one_line(result.kernel_name));
    for (const auto& [check, value] : most) out << fmt::format("{} = {}\n", check, value);
    // Rounded down, so that the measured value itself is within its limit.
    if (least_occupancy) {
      out << fmt::format("min_occupancy = {:.2f}\n", std::floor(*least_occupancy * 100) / 100);
    }
  }
}

void print_lint(const std::vector<LintResult>& results, bool details, std::ostream& out,
                std::ostream* failing) {
  size_t good = 0, bad = 0, broken = 0, skipped = 0;
  for (const LintResult& result : results) {
    print_kernel(result, details, out);
    const bool has_failed = !result.error.empty() || (is_measured(result) && !result.passed);
    if (failing != nullptr && has_failed) print_kernel(result, false, *failing);
    ++(!result.error.empty()  ? broken
       : !is_measured(result) ? skipped
       : result.passed        ? good
                              : bad);
  }
  print_not_checked(results, out);
  out << fmt::format("{} within their limits, {} not{}{}\n", good, bad,
                     skipped > 0 ? fmt::format(", {} skipped", skipped) : "",
                     broken > 0 ? fmt::format(", {} could not be measured", broken) : "");
}

}  // namespace gpuemu::cli
