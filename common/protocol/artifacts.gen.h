// Records about compiled kernels (wire-protocol, section 3.7).
// Written by tools/make_protocol.py from artifacts.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

/// What the metrics were taken from.
enum class ArtifactSource {
  Ptx,
  Sass,
  Both,
};
inline constexpr ArtifactSource kLastArtifactSource = ArtifactSource::Both;
/// The name on the wire, and back.
const char* name_of(ArtifactSource value);
std::optional<ArtifactSource> artifact_source_from_name(const std::string& name);

/// Limits that a kernel can break. The last three are additions: existing tools do not have them.
enum class LintKind {
  ExcessiveRegisters,
  ExcessiveSpills,
  ExcessiveLocalMemory,
  MissingRequiredPattern,
  ForbiddenPatternFound,
  ExcessiveSharedMemory,
  ExcessiveInstructions,
  LowOccupancy,
};
inline constexpr LintKind kLastLintKind = LintKind::LowOccupancy;
/// The name on the wire, and back.
const char* name_of(LintKind value);
std::optional<LintKind> lint_kind_from_name(const std::string& name);

/// A parameter of a kernel.
struct EntryParam {
  std::string name;  ///< As in the PTX.
  std::string type;  ///< "u64", "f32"; of a struct "b8".
  uint64_t bytes = 0;
  bool operator==(const EntryParam&) const = default;
};

/// What the parsed PTX of one entry says.
struct PtxMetrics {
  std::string entry;  ///< Its name in the PTX.
  std::string target;  ///< "sm_80", as the module says.
  std::string source_file;
  uint32_t source_line = 0;  ///< First line of its code, 0 when unknown.
  std::map<std::string, uint32_t> registers;  ///< Virtual ones, by type: "f32".
  uint32_t instructions = 0;
  std::map<std::string, uint32_t> classes;  ///< Instructions by class: "arithmetic".
  std::map<std::string, uint32_t> loads;
  std::map<std::string, uint32_t> stores;  ///< By space and bytes per thread: "global.16".
  std::map<std::string, uint32_t> special_functions;  ///< By spelling: "ex2.approx.ftz.f32".
  uint32_t barriers = 0;
  uint32_t atomics = 0;
  uint32_t tensor_ops = 0;
  uint32_t ftz = 0;
  uint32_t approx = 0;
  uint32_t branches = 0;  ///< Conditional ones.
  uint32_t divergent_branches = 0;  ///< Branches whose condition may differ inside a warp.
  uint32_t loops = 0;
  uint32_t loop_depth = 0;
  uint32_t back_edges = 0;
  uint64_t shared_bytes = 0;  ///< Declared; dynamic shared memory comes with the launch.
  uint64_t local_bytes = 0;
  uint64_t const_bytes = 0;
  bool dynamic_shared = false;
  std::map<std::string, uint32_t> constants;  ///< Floating-point literals of the code.
  std::vector<EntryParam> params;
  bool operator==(const PtxMetrics&) const = default;
};

/// What a multiprocessor has too little of for more blocks.
enum class OccupancyLimiter {
  Registers,
  SharedMemory,
  Warps,
  Blocks,
};
inline constexpr OccupancyLimiter kLastOccupancyLimiter = OccupancyLimiter::Blocks;
/// The name on the wire, and back.
const char* name_of(OccupancyLimiter value);
std::optional<OccupancyLimiter> occupancy_limiter_from_name(const std::string& name);

/// How full a multiprocessor gets.
struct Occupancy {
  uint32_t threads = 0;  ///< Per block, of the launch that is meant.
  uint64_t dynamic_shared_bytes = 0;
  uint32_t blocks = 0;  ///< Per multiprocessor.
  uint32_t warps = 0;
  uint32_t warps_max = 0;
  double fraction = 0;  ///< warps / warps_max
  OccupancyLimiter limiter = OccupancyLimiter::Registers;
  bool operator==(const Occupancy&) const = default;
};

/// What ptxas made of one entry for one architecture, and the mix of its machine code.
struct CompiledMetrics {
  std::string arch;  ///< "sm_80"
  uint32_t registers = 0;
  uint32_t stack_bytes = 0;
  uint32_t spill_store_bytes = 0;
  uint32_t spill_load_bytes = 0;
  uint32_t barriers = 0;
  uint64_t shared_bytes = 0;
  std::map<std::string, uint32_t> constant_bytes;  ///< By bank.
  std::optional<Occupancy> occupancy;
  uint32_t sass_instructions = 0;  ///< 0 when it was not disassembled.
  std::map<std::string, uint32_t> sass_classes;
  /// "branches", "loops", "calls", "predicated exits", ...
  std::map<std::string, uint32_t> sass_control;
  bool operator==(const CompiledMetrics&) const = default;
};

/// Metrics of one kernel. What stands before `ptx` is counted line by line over its text.
struct ArtifactMetrics {
  std::string kernel_name;
  uint32_t register_count = 0;
  uint32_t spill_count = 0;
  uint32_t local_memory_bytes = 0;
  uint32_t shared_memory_bytes = 0;
  uint32_t instruction_count = 0;
  std::vector<std::string> patterns_found;
  ArtifactSource source = ArtifactSource::Ptx;
  int64_t timestamp = 0;
  int64_t last_seen = 0;  ///< When the same was measured last, in seconds since 1970; 0: once.
  std::optional<std::string> ptx_content;
  std::optional<PtxMetrics> ptx;
  std::vector<CompiledMetrics> compiled;
  std::string user;  ///< In lists of a daemon that several users share: who stored it.
  std::string project;  ///< In lists of stored metrics: the id of the project that they belong to.
  bool operator==(const ArtifactMetrics&) const = default;
};

/// A limit that a kernel breaks.
struct LintViolation {
  LintKind kind = LintKind::ExcessiveRegisters;
  std::string message;
  std::optional<uint64_t> actual;
  std::optional<uint64_t> threshold;  ///< Absent for patterns and for occupancy.
  std::string check;  ///< The key of gpuemu.toml: "max_registers".
  std::string arch;  ///< "" when it is about the PTX.
  std::optional<double> value;
  std::optional<double> limit;
  std::string source_file;
  uint32_t source_line = 0;
  bool operator==(const LintViolation&) const = default;
};

/// One kernel against its limits.
struct LintResult {
  std::string kernel_name;
  bool passed = true;
  ArtifactMetrics metrics;
  std::vector<LintViolation> violations;
  int64_t timestamp = 0;
  std::string source;  ///< The file that was looked at.
  std::vector<std::string> not_checked;  ///< Checks that could not be made, and why.
  std::string error;  ///< Why nothing could be measured; then passed is false.
  bool operator==(const LintResult&) const = default;
};

enum class MetricVerdict {
  Regression,
  Improvement,
  Warning,  ///< Worse by more than the threshold, of a number that decides nothing.
  Change,  ///< Worse by less.
};
inline constexpr MetricVerdict kLastMetricVerdict = MetricVerdict::Change;
/// The name on the wire, and back.
const char* name_of(MetricVerdict value);
std::optional<MetricVerdict> metric_verdict_from_name(const std::string& name);

/// One number that is not what it was.
struct MetricChange {
  std::string metric;
  std::string arch;  ///< `arch` is "" for numbers of the PTX.
  double before = 0;
  double after = 0;
  std::optional<double> percent;  ///< Absent where it was 0.
  MetricVerdict verdict = MetricVerdict::Regression;
  bool operator==(const MetricChange&) const = default;
};

/// One kernel beside its baseline.
struct ArtifactDiff {
  std::string kernel_name;
  std::optional<ArtifactMetrics> baseline;
  ArtifactMetrics current;
  int64_t register_delta = 0;
  int64_t spill_delta = 0;
  int64_t local_memory_delta = 0;
  int64_t instruction_delta = 0;
  bool is_regression = false;
  std::vector<MetricChange> changes;
  std::vector<std::string> constants;  ///< "0.5 is gone", "0.25 is new (2 times)"
  bool operator==(const ArtifactDiff&) const = default;
};

/// All measured kernels beside a baseline.
struct ArtifactDiffSummary {
  std::string baseline_tag;
  bool has_regressions = false;
  std::vector<ArtifactDiff> diffs;
  std::vector<std::string> missing;  ///< Kernels of the baseline that are not measured now.
  bool operator==(const ArtifactDiffSummary&) const = default;
};

struct ArtifactMetricsResultReply {
  ArtifactMetrics metrics;  ///< Its members stand beside `type`.
  bool operator==(const ArtifactMetricsResultReply&) const = default;
};

struct ArtifactListReply {
  std::vector<ArtifactMetrics> artifacts;
  bool operator==(const ArtifactListReply&) const = default;
};

struct ArtifactDiffsReply {
  ArtifactDiffSummary summary;  ///< Its members stand beside `type`.
  bool operator==(const ArtifactDiffsReply&) const = default;
};

}  // namespace gpuemu
