#include "judge/metrics/policy.h"

#include <algorithm>
#include <functional>
#include <span>

#include <fmt/core.h>

#include "common/config/pattern.h"
#include "judge/metrics/ptx_metrics.h"

namespace gpuemu {
namespace {

/// A number and its limit.
struct Check {
  LintKind kind;
  const char* key;
  const char* unit;
  uint64_t actual;
  std::optional<uint32_t> limit;
};

class Judge {
 public:
  Judge(const Measured& measured, LintResult& result) : measured_(measured), result_(result) {}

  void check_numbers(std::span<const Check> checks, const std::string& arch) {
    for (const Check& check : checks) {
      if (!check.limit || check.actual <= *check.limit) continue;
      LintViolation violation = begin(check.kind, check.key, arch);
      violation.message = fmt::format("{}: {} {}, the limit is {} ({})", subject(arch),
                                      check.actual, check.unit, *check.limit, check.key);
      violation.actual = check.actual;
      violation.threshold = *check.limit;
      violation.value = static_cast<double>(check.actual);
      violation.limit = static_cast<double>(*check.limit);
      add(std::move(violation));
    }
  }

  void check_occupancy(const ArtifactLimits& limits, const CompiledMetrics& compiled) {
    if (!limits.min_occupancy) return;
    if (!compiled.occupancy) {
      const auto reason = measured_.no_occupancy.find(compiled.arch);
      result_.not_checked.push_back(
          fmt::format("min_occupancy on {}: {}", compiled.arch,
                      reason == measured_.no_occupancy.end() ? "it is not known" : reason->second));
      return;
    }
    const Occupancy& occupancy = *compiled.occupancy;
    if (occupancy.fraction >= *limits.min_occupancy) return;
    LintViolation violation = begin(LintKind::LowOccupancy, "min_occupancy", compiled.arch);
    violation.message = fmt::format(
        "{}: occupancy {:.2f} ({} of {} warps in blocks of {} threads, limited by {}), the least "
        "is {} (min_occupancy)",
        subject(compiled.arch), occupancy.fraction, occupancy.warps, occupancy.warps_max,
        occupancy.threads, name_of(occupancy.limiter), *limits.min_occupancy);
    violation.value = occupancy.fraction;
    violation.limit = *limits.min_occupancy;
    add(std::move(violation));
  }

  void check_patterns(const ArtifactLimits& limits, const std::string& arch) {
    for (const std::string& text : limits.required_patterns.value_or(std::vector<std::string>())) {
      if (find(Pattern(text), arch)) continue;
      LintViolation violation = begin(LintKind::MissingRequiredPattern, "required_patterns", arch);
      violation.message =
          fmt::format("{}: no instruction matches '{}' (required_patterns)", subject(arch), text);
      add(std::move(violation));
    }
    for (const std::string& text : limits.forbidden_patterns.value_or(std::vector<std::string>())) {
      const auto found = find(Pattern(text), arch);
      if (!found) continue;
      LintViolation violation = begin(LintKind::ForbiddenPatternFound, "forbidden_patterns", arch);
      const std::string where =
          found->source_line == 0 ? ""
          : found->source_file.empty()
              ? fmt::format(" at line {} of the PTX", found->source_line)
              : fmt::format(" at {}:{}", found->source_file, found->source_line);
      violation.message = fmt::format("{}: {}{} matches '{}' (forbidden_patterns)", subject(arch),
                                      found->text, where, text);
      if (!found->source_file.empty()) {
        violation.source_file = found->source_file;
        violation.source_line = found->source_line;
      }
      add(std::move(violation));
    }
  }

 private:
  std::string subject(const std::string& arch) const {
    return arch.empty() ? result_.kernel_name : fmt::format("{} on {}", result_.kernel_name, arch);
  }

  LintViolation begin(LintKind kind, const char* key, const std::string& arch) const {
    LintViolation violation;
    violation.kind = kind;
    violation.check = key;
    violation.arch = arch;
    if (result_.metrics.ptx) {
      violation.source_file = result_.metrics.ptx->source_file;
      violation.source_line = result_.metrics.ptx->source_line;
    }
    return violation;
  }

  void add(LintViolation violation) {
    result_.passed = false;
    result_.violations.push_back(std::move(violation));
  }

  std::optional<InstructionSite> find(const Pattern& pattern, const std::string& arch) const {
    if (measured_.entry != nullptr) {
      for (const ptx::Instruction& one : measured_.entry->body) {
        if (pattern.found_in(one.spelling()) || pattern.found_in(one.text())) {
          return place_of(*measured_.module, one);
        }
      }
    }
    const auto opcodes = measured_.sass.find(arch);
    if (opcodes == measured_.sass.end()) return std::nullopt;
    for (const std::string& opcode : opcodes->second) {
      if (pattern.found_in(opcode)) return InstructionSite{opcode, "", 0};
    }
    return std::nullopt;
  }

  const Measured& measured_;
  LintResult& result_;
};

void judge_compiled(const ArtifactLimits& limits, const CompiledMetrics& compiled, Judge& judge) {
  const Check checks[] = {
      {LintKind::ExcessiveRegisters, "max_registers", "registers per thread", compiled.registers,
       limits.max_registers},
      {LintKind::ExcessiveSpills, "max_spills", "bytes of spill stores and loads",
       uint64_t{compiled.spill_store_bytes} + compiled.spill_load_bytes, limits.max_spills},
      {LintKind::ExcessiveLocalMemory, "max_local_memory", "bytes of stack per thread",
       compiled.stack_bytes, limits.max_local_memory},
      {LintKind::ExcessiveSharedMemory, "max_shared_memory", "bytes of shared memory",
       compiled.shared_bytes + (compiled.occupancy ? compiled.occupancy->dynamic_shared_bytes : 0),
       limits.max_shared_memory},
  };
  judge.check_numbers(checks, compiled.arch);
  judge.check_occupancy(limits, compiled);
}

void judge_uncompiled(const ArtifactLimits& limits, const PtxMetrics& ptx, const std::string& arch,
                      Judge& judge) {
  const Check checks[] = {
      {LintKind::ExcessiveLocalMemory, "max_local_memory", "bytes of local memory declared",
       ptx.local_bytes, limits.max_local_memory},
      {LintKind::ExcessiveSharedMemory, "max_shared_memory", "bytes of shared memory declared",
       ptx.shared_bytes, limits.max_shared_memory},
  };
  judge.check_numbers(checks, arch);
}

}  // namespace

void judge(const Config& config, const KernelConfig* kernel, const Measured& measured,
           LintResult& result) {
  Judge judge(measured, result);
  for (const std::string& arch : measured.archs) {
    const ArtifactLimits limits = config.limits_for(kernel, arch);
    const auto compiled = std::ranges::find(result.metrics.compiled, arch, &CompiledMetrics::arch);
    const bool known = compiled != result.metrics.compiled.end();
    if (known) judge_compiled(limits, *compiled, judge);
    if (!known && result.metrics.ptx) judge_uncompiled(limits, *result.metrics.ptx, arch, judge);
    if (!known) {
      const auto reason = measured.not_compiled.find(arch);
      result.not_checked.push_back(fmt::format(
          "max_registers, max_spills{} on {}: {}", limits.min_occupancy ? ", min_occupancy" : "",
          arch, reason == measured.not_compiled.end() ? "not compiled" : reason->second));
    }
    const uint64_t instructions = result.metrics.ptx ? result.metrics.ptx->instructions
                                  : known            ? compiled->sass_instructions
                                                     : 0;
    const Check checks[] = {{LintKind::ExcessiveInstructions, "max_instructions", "instructions",
                             instructions, limits.max_instructions}};
    judge.check_numbers(checks, arch);
    judge.check_patterns(limits, arch);
  }
}

void judge_plain(const ArtifactLimits& limits, LintResult& result) {
  const ArtifactMetrics& metrics = result.metrics;
  const Check checks[] = {
      {LintKind::ExcessiveRegisters, "max_registers", "virtual registers", metrics.register_count,
       limits.max_registers},
      {LintKind::ExcessiveSpills, "max_spills", "accesses to local memory", metrics.spill_count,
       limits.max_spills},
      {LintKind::ExcessiveLocalMemory, "max_local_memory", "bytes of local memory",
       metrics.local_memory_bytes, limits.max_local_memory},
      {LintKind::ExcessiveSharedMemory, "max_shared_memory", "bytes of shared memory",
       metrics.shared_memory_bytes, limits.max_shared_memory},
      {LintKind::ExcessiveInstructions, "max_instructions", "instructions",
       metrics.instruction_count, limits.max_instructions},
  };
  Measured opcodes;
  opcodes.sass[""] = metrics.patterns_found;
  Judge judge(opcodes, result);
  judge.check_numbers(checks, "");
  judge.check_patterns(limits, "");
}

}  // namespace gpuemu
