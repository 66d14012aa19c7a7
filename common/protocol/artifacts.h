// Wire records about compiled kernels and continuous integration runs (wire-protocol, sections 3.7
// and 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/records.h"

namespace gpuemu {

enum class ArtifactSource { Ptx, Sass, Both };
const char* name_of(ArtifactSource source);
std::optional<ArtifactSource> artifact_source_from_name(const std::string& name);

struct ArtifactMetrics {
  std::string kernel_name;
  uint32_t register_count = 0, spill_count = 0, local_memory_bytes = 0, shared_memory_bytes = 0,
           instruction_count = 0;
  std::vector<std::string> patterns_found;
  ArtifactSource source = ArtifactSource::Ptx;
  int64_t timestamp = 0;
  std::optional<std::string> ptx_content;
  bool operator==(const ArtifactMetrics&) const = default;
};

enum class LintKind {
  ExcessiveRegisters,
  ExcessiveSpills,
  ExcessiveLocalMemory,
  MissingRequiredPattern,
  ForbiddenPatternFound,
};
const char* name_of(LintKind kind);
std::optional<LintKind> lint_kind_from_name(const std::string& name);

struct LintViolation {
  LintKind kind = LintKind::ExcessiveRegisters;
  std::string message;
  std::optional<uint64_t> actual, threshold;  ///< Absent for the two pattern kinds.
  bool operator==(const LintViolation&) const = default;
};

struct LintResult {
  std::string kernel_name;
  bool passed = true;
  ArtifactMetrics metrics;
  std::vector<LintViolation> violations;
  int64_t timestamp = 0;
  bool operator==(const LintResult&) const = default;
};

struct ArtifactDiff {
  std::string kernel_name;
  std::optional<ArtifactMetrics> baseline;
  ArtifactMetrics current;
  int64_t register_delta = 0, spill_delta = 0, local_memory_delta = 0, instruction_delta = 0;
  bool is_regression = false;
  bool operator==(const ArtifactDiff&) const = default;
};

struct ArtifactDiffSummary {
  std::string baseline_tag;
  bool has_regressions = false;
  std::vector<ArtifactDiff> diffs;
  bool operator==(const ArtifactDiffSummary&) const = default;
};

struct CiRunSummary {
  uint64_t total_tests = 0, passed = 0, failed = 0, skipped = 0;
  uint64_t duration_ms = 0;
  int64_t timestamp = 0;
  std::vector<ValidationResult> validation_results;
  std::vector<LintResult> lint_results;
  std::optional<ArtifactDiffSummary> artifact_diffs;
  bool operator==(const CiRunSummary&) const = default;
};

}  // namespace gpuemu
