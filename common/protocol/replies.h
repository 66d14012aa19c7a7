// Every reply of the wire protocol as one struct; a Reply is one of them. The struct's name without
// "Reply" is the wire's `type`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/protocol/artifacts.h"
#include "common/protocol/ci.h"
#include "common/protocol/explain.h"
#include "common/protocol/kernel_records.h"
#include "common/protocol/proof.h"
#include "common/protocol/records.h"

namespace gpuemu {

inline constexpr uint64_t kProtocolVersion = 1;

/// One device as Ping, Devices and DaemonStatus tell it.
struct DeviceInfo {
  std::string name, backend, architecture;  ///< "NVIDIA H100", "cuda", "sm_90"
  uint64_t memory_bytes = 0;
  uint64_t multiprocessors = 0;
  uint64_t index = 0;  ///< Among the devices of its backend.
  uint64_t memory_free_bytes = 0;
  uint64_t shared_bytes_per_block = 0, shared_bytes_per_multiprocessor = 0;
  uint64_t registers_per_block = 0, registers_per_multiprocessor = 0;
  uint64_t threads_per_multiprocessor = 0;
  std::string driver_version, runtime_version;  ///< "" without one.
  std::vector<std::string> dtypes;              ///< That it computes or converts in hardware.
  std::string note;                             ///< Why it is not usable, "" when it is.
  bool operator==(const DeviceInfo&) const = default;
};

struct PongReply {
  std::string version;
  uint64_t protocol_version = kProtocolVersion;
  uint64_t uptime_secs = 0;  ///< Sent as uptime_seconds too.
  std::vector<std::string> capabilities;
  std::string backend;
  std::vector<DeviceInfo> devices;
  bool operator==(const PongReply&) const = default;
};
struct OkReply {
  bool operator==(const OkReply&) const = default;
};
struct ValidationResultReply {
  ValidationResult result;
  bool operator==(const ValidationResultReply&) const = default;
};
struct SubmitResultReply {
  ValidationResult result;
  bool operator==(const SubmitResultReply&) const = default;
};
struct ResultsReply {
  std::vector<ValidationResult> results;
  bool operator==(const ResultsReply&) const = default;
};
struct BaselineComparisonReply {
  std::string baseline_tag;
  std::vector<BaselineComparison> comparisons;
  bool has_regressions = false;
  // With same_cases: results of now and of the baseline without their counterpart.
  uint64_t unmatched = 0, baseline_unmatched = 0;
  bool operator==(const BaselineComparisonReply&) const = default;
};
struct FuzzResultsReply {
  uint64_t seed = 0;  ///< The master seed.
  uint64_t total = 0, passed = 0, failed = 0;
  std::vector<ValidationResult> failures;
  std::vector<Proof> proofs;           ///< One per dtype with a passing case.
  std::optional<SearchReport> search;  ///< Of a guided run.
  std::string error;  ///< An addition of ours: why not all cases could be run, "" when they could.
  std::vector<std::string> notes = {};  ///< What the verdict does not rest on; empty: not sent.
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  uint64_t warned = 0;     ///< As in OpTestReport; 0: not sent.
  std::vector<ValidationResult> warnings = {};  ///< The first of them; empty: not sent.
  bool operator==(const FuzzResultsReply&) const = default;
};
struct ReproduceResultReply {
  ValidationResult result;
  NamedTensors inputs;
  // Additions of ours; empty ones are not sent.
  std::vector<LineProfile> profile;  ///< When it was asked for.
  std::vector<std::string> printed;  ///< Lines of the kernel's printf, where the device keeps them.
  /// False: nothing was run and `result` is the stored one. Always sent.
  bool rerun = true;
  bool operator==(const ReproduceResultReply&) const = default;
};
struct MinimizeResultReply {
  uint64_t original_seed = 0, minimized_seed = 0;
  Shape minimized_shape;
  ValidationResult result;
  // Additions of ours; empty ones are not sent.
  Shape original_shape;
  std::map<std::string, int64_t> original_dims, minimized_dims;
  uint64_t trials = 0;
  /// What was made simpler beside the dims, one line each: "layout strided -> contiguous".
  std::vector<std::string> simplified;
  uint64_t input_elements = 0, nonzero_elements = 0;  ///< Of the inputs of the smaller case.
  std::vector<std::string> notes;                     ///< As that not every run of it fails.
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const MinimizeResultReply&) const = default;
};
struct LintResultsReply {
  std::vector<LintResult> results;
  std::vector<std::string> missing_tools;  ///< An addition of ours: what to install, one line each.
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const LintResultsReply&) const = default;
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
struct CiRunCompleteReply {
  CiRunSummary summary;  ///< Its members stand beside `type`.
  bool operator==(const CiRunCompleteReply&) const = default;
};

/// A packed tensor beside the strides that existing daemons name; they do not address its data.
struct CaseInput {
  Tensor tensor;
  Strides strides;
  bool operator==(const CaseInput&) const = default;
};
struct TestCase {
  uint64_t seed = 0;
  std::map<std::string, CaseInput> inputs;
  Shape shape;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;  ///< Lower case on the wire here.
  bool operator==(const TestCase&) const = default;
};
struct TestCaseReply {
  TestCase test_case;  ///< Its members stand beside `type`.
  bool operator==(const TestCaseReply&) const = default;
};
struct TestBatchReply {
  std::vector<TestCase> cases;
  bool operator==(const TestBatchReply&) const = default;
};

enum class WireErrorCode {
  OpNotFound,
  ReferenceScriptFailed,
  InvalidRequest,
  InternalError,
  NotFound,
  ConfigError,
  KernelNotFound,
  ArtifactNotFound,
  BaselineNotFound,
  PtxParseError,
  CuobjdumpNotAvailable,
  VersionMismatch,
};
const char* name_of(WireErrorCode code);
std::optional<WireErrorCode> wire_error_code_from_name(const std::string& name);
/// InvalidArgument -> InvalidRequest, NotFound -> NotFound, Compile -> PtxParseError, else
/// InternalError.
WireErrorCode wire_code_of(ErrorCode code);

struct ErrorReply {
  WireErrorCode code = WireErrorCode::InternalError;
  std::string message;
  bool operator==(const ErrorReply&) const = default;
};
ErrorReply error_reply(const Error& error);

// Additions of this project.

/// What came of one op in one dtype.
/// A passing case whose verdict changes with how its arithmetic is compiled.
struct FragileCase {
  uint64_t seed = 0;
  std::string setting;  ///< "contraction always", "contraction random 2"
  std::string message;  ///< What then is wrong.
  std::optional<ExplainedStep> divergence;
  bool operator==(const FragileCase&) const = default;
};

struct OpTestReport {
  std::string op_name;
  DType dtype = DType::Float32;
  std::string kernel;  ///< The variant that ran.
  uint64_t cases = 0, passed = 0, failed = 0;
  std::string skipped_reason;  ///< "" when it ran.
  uint64_t duration_ms = 0;
  double cases_per_second = 0;
  std::vector<ValidationResult> failures;  ///< The first ones.
  uint64_t warned = 0;                     ///< Cases that passed with a warning.
  std::vector<ValidationResult> warnings;  ///< The first of them.
  double max_diff = 0;
  double worst_error_use = 0;  ///< Largest error over its allowed bound; 1 is the limit.
  std::map<std::string, uint64_t> strategies;  ///< Cases per value strategy.
  std::map<std::string, uint64_t> relations;   ///< Cases in which each relation was checked.
  bool no_reference = false;                   ///< No value was compared with an expected one.
  std::vector<std::string> notes;              ///< What the verdict rests on, and what it does not.
  std::optional<Proof> proof;                  ///< When a case passed.
  std::vector<FragileCase> fragile;            ///< When it was asked for; the first ones.
  uint64_t fragile_checked = 0;                ///< Passing cases that were run in other settings.
  bool reference_failed = false;  ///< It answered no case, which `skipped_reason` says.
  uint64_t not_run = 0;  ///< Cases that the run ended before; `skipped_reason` or a note says why.
  bool operator==(const OpTestReport&) const = default;
};
struct TestReportReply {
  std::vector<OpTestReport> ops;
  uint64_t seed = 0;
  std::string backend, device;
  uint64_t total = 0, passed = 0, failed = 0, skipped = 0;  ///< Cases; skipped counts ops.
  uint64_t duration_ms = 0;
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const TestReportReply&) const = default;
};

struct JobStartedReply {
  uint64_t job_id = 0;
  bool operator==(const JobStartedReply&) const = default;
};

enum class JobState { Running, Done, Cancelled, Failed };
const char* name_of(JobState state);  ///< "running", "done", "cancelled", "failed"
std::optional<JobState> job_state_from_name(const std::string& name);

/// What happened in a job: an op began in a dtype, one of its cases failed (`failure`), or nothing
/// more is to come of it (`report`).
struct JobEvent {
  std::string op_name;
  std::optional<DType> dtype;               ///< Absent for a failed case, whose result has it.
  std::optional<ValidationResult> failure;  ///< Without the inputs.
  std::optional<OpTestReport> report;       ///< Its counts so far, without cases.
  bool operator==(const JobEvent&) const = default;
};

struct JobStatusReply {
  uint64_t job_id = 0;
  JobState state = JobState::Running;
  uint64_t done = 0, total = 0, failures = 0;
  double rate = 0;                     ///< Cases per second.
  std::optional<double> seconds_left;  ///< Absent while unknown.
  std::vector<std::string> log;        ///< Lines from JobStatusRequest::log_from on.
  std::vector<JobEvent> events;        ///< From JobStatusRequest::events_from on; empty: not sent.
  /// The final reply as encode_reply wrote it, "" while the job runs. Sent as an object, not as
  /// text.
  std::string result_json;
  bool operator==(const JobStatusReply&) const = default;
};

struct DevicesReply {
  std::vector<DeviceInfo> devices;
  bool operator==(const DevicesReply&) const = default;
};
/// One effective value of the configuration, as `gpuemu config show --origin` prints it.
struct ConfigSetting {
  std::string key, value, origin;
  bool operator==(const ConfigSetting&) const = default;
};
struct ConfigShowReply {
  std::string path;  ///< Of the file in use, "" when there is none.
  std::vector<ConfigSetting> settings;
  bool operator==(const ConfigShowReply&) const = default;
};
struct DaemonStatusReply {
  std::string version, backend, socket_path, config_path, storage_path;
  uint64_t pid = 0, uptime_secs = 0, workers = 0, jobs_running = 0, requests_served = 0;
  std::vector<DeviceInfo> devices;
  std::map<std::string, std::string> start_settings;  ///< Read when it started and not again.
  std::string build;  ///< GNU build id of the daemon's program; "": built without one.
  bool operator==(const DaemonStatusReply&) const = default;
};
struct CaseReply {
  std::string case_json;  ///< The case as JSON text; sent as an object in `case`.
  NamedTensors inputs;
  bool operator==(const CaseReply&) const = default;
};

/// How much each tag holds.
struct BaselineInfo {
  std::string tag;
  uint64_t results = 0, artifacts = 0;
  bool operator==(const BaselineInfo&) const = default;
};
struct BaselineListReply {
  std::vector<BaselineInfo> baselines;  ///< In order of tag.
  bool operator==(const BaselineListReply&) const = default;
};

inline constexpr uint64_t kBaselineSchemaVersion = 1;
/// One baseline as a whole; also the form of a baseline that lives in a file.
struct BaselineReply {
  uint64_t schema_version = kBaselineSchemaVersion;
  std::string tag;
  std::vector<ValidationResult> results;
  std::vector<ArtifactMetrics> artifacts;
  bool operator==(const BaselineReply&) const = default;
};

/// A case with everything that running it takes.
struct ExportedCaseReply {
  ValidationResult result;  ///< The failure as it is stored.
  std::string version, arch, kernel;
  std::string ptx;
  std::map<std::string, std::string> sources;  ///< File name to text; the kernel's own comes first
                                               ///< in `source`.
  std::string source;                          ///< Key of `sources`; "" when there is none.
  std::vector<ExportedTensor> tensors;
  std::vector<ExportedLaunch> launches;
  NamedTensors inputs;     ///< Packed.
  NamedTensors expected;   ///< What the reference says, unrounded.
  NamedTensors bounds;     ///< How far each element may lie from it.
  std::string nan_policy;  ///< "match", "class" or "any"
  bool operator==(const ExportedCaseReply&) const = default;
};

struct MutationReportReply {
  std::string op_name, kernel;
  DType dtype = DType::Float32;
  uint64_t seed = 0, cases = 0;  ///< Per mutant.
  uint64_t found = 0;            ///< Mutants that the kernel has, of which `total` were chosen.
  uint64_t total = 0, killed = 0, survived = 0, equivalent = 0, invalid = 0, not_run = 0;
  std::optional<double> score;  ///< killed / (killed + survived); absent when both are 0.
  std::vector<MutantReport> mutants;
  uint64_t duration_ms = 0;
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const MutationReportReply&) const = default;
};

struct KernelComparisonReply {
  std::string before, after;
  std::string verdict;  ///< The gravest of the entries'.
  std::vector<EntryDifference> entries;
  bool operator==(const KernelComparisonReply&) const = default;
};

struct BoundsReportReply {
  std::vector<LaunchBounds> launches;
  uint64_t total = 0, proved = 0;  ///< Accesses of all launches.
  uint64_t duration_ms = 0;
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const BoundsReportReply&) const = default;
};

struct FailuresDeletedReply {
  uint64_t count = 0;
  bool operator==(const FailuresDeletedReply&) const = default;
};

using Reply = std::variant<
    PongReply, OkReply, ValidationResultReply, SubmitResultReply, ResultsReply,
    BaselineComparisonReply, FuzzResultsReply, ReproduceResultReply, MinimizeResultReply,
    LintResultsReply, ArtifactMetricsResultReply, ArtifactListReply, ArtifactDiffsReply,
    CiRunCompleteReply, TestCaseReply, TestBatchReply, ErrorReply, TestReportReply, JobStartedReply,
    JobStatusReply, DevicesReply, ConfigShowReply, DaemonStatusReply, CaseReply, BaselineListReply,
    BaselineReply, KernelCoverageReply, CalibrationReply, ExportedCaseReply, MutationReportReply,
    KernelComparisonReply, FailuresDeletedReply, ExplainResultReply, BoundsReportReply>;

/// The wire's `type` of the reply: "Pong", "ValidationResult", ...
const char* type_of(const Reply& reply);

}  // namespace gpuemu
