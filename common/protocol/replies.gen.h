// The replies that belong to no other table, as one struct each. The struct's name without "Reply"
// is the wire's `type`.
// Written by tools/make_protocol.py from replies.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/case_input.h"
#include "common/protocol/ci.gen.h"
#include "common/protocol/daemon.gen.h"
#include "common/protocol/errors.gen.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/records.gen.h"
#include "common/protocol/sessions.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

inline constexpr uint64_t kProtocolVersion = 1;

inline constexpr uint64_t kBaselineSchemaVersion = 1;

/// A case for an op that the client runs.
struct TestCase {
  uint64_t seed = 0;
  std::map<std::string, CaseInput> inputs;
  Shape shape;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;  ///< Lower case on the wire here.
  bool operator==(const TestCase&) const = default;
};

/// How much each tag holds.
struct BaselineInfo {
  std::string tag;
  uint64_t results = 0;
  uint64_t artifacts = 0;
  std::string project;  ///< The id of the project that it belongs to.
  std::string user;  ///< Who stored it, where several users share the daemon.
  bool operator==(const BaselineInfo&) const = default;
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
  uint64_t unmatched = 0;
  uint64_t baseline_unmatched = 0;
  bool operator==(const BaselineComparisonReply&) const = default;
};

struct FuzzResultsReply {
  uint64_t seed = 0;  ///< The master seed.
  uint64_t total = 0;
  uint64_t passed = 0;
  uint64_t failed = 0;
  std::vector<ValidationResult> failures;
  std::vector<Evidence> evidence;  ///< One per dtype with a passing case.
  std::optional<SearchReport> search;  ///< What a guided run reached.
  std::string error;  ///< Why not all cases could be run, "" when they could.
  std::vector<std::string> notes;  ///< What the verdict does not rest on; empty: not sent.
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::optional<uint64_t> cases_complete;  ///< Where it ended early: so many, in order, ran.
  uint64_t warned = 0;  ///< As in OpTestReport; 0: not sent.
  std::vector<ValidationResult> warnings;  ///< The first of them; empty: not sent.
  std::vector<ValidationResult> results;  ///< Every case, where asked for.
  std::vector<OpTestReport> reports;  ///< For FinishFuzz.
  /// "local": kernels ran in the daemon, which has no workers; "" where workers ran them.
  std::string execution;
  bool operator==(const FuzzResultsReply&) const = default;
};

struct ReproduceResultReply {
  ValidationResult result;
  NamedTensors inputs;
  std::vector<LineProfile> profile;  ///< When it was asked for.
  std::vector<std::string> printed;  ///< Lines of the kernel's printf, where the device keeps them.
  bool rerun = true;  ///< False: nothing was run and `result` is the stored one. Always sent.
  std::optional<ErrorMap> error_map;  ///< With `details`, of a case with comparable values.
  std::string ptx;  ///< With `details`, of the kernel that ran.
  std::vector<ExportedLaunch> launches;  ///< With `details`.
  std::string guess;  ///< As in OpTestReport, where the case fails.
  bool operator==(const ReproduceResultReply&) const = default;
};

struct MinimizeResultReply {
  uint64_t original_seed = 0;
  uint64_t minimized_seed = 0;
  Shape minimized_shape;
  ValidationResult result;
  Shape original_shape;
  std::map<std::string, int64_t> original_dims;
  std::map<std::string, int64_t> minimized_dims;
  uint64_t trials = 0;
  /// What was made simpler beside the dims, one line each: "layout strided -> contiguous".
  std::vector<std::string> simplified;
  uint64_t input_elements = 0;
  uint64_t nonzero_elements = 0;  ///< In the inputs of the smaller case.
  std::vector<std::string> notes;  ///< For example that not every run of it fails.
  std::string guess;  ///< As in OpTestReport.
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  std::string execution;  ///< As in FuzzResults.
  bool operator==(const MinimizeResultReply&) const = default;
};

struct LintResultsReply {
  std::vector<LintResult> results;
  std::vector<std::string> missing_tools;  ///< What to install, one line each.
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  bool operator==(const LintResultsReply&) const = default;
};

struct CiRunCompleteReply {
  CiRunSummary summary;  ///< Its members stand beside `type`.
  bool operator==(const CiRunCompleteReply&) const = default;
};

struct TestCaseReply {
  TestCase test_case;  ///< Its members stand beside `type`.
  bool operator==(const TestCaseReply&) const = default;
};

struct TestBatchReply {
  std::vector<TestCase> cases;
  bool operator==(const TestBatchReply&) const = default;
};

struct TestReportReply {
  uint64_t seed = 0;
  std::string backend;
  std::string device;
  uint64_t total = 0;
  uint64_t passed = 0;
  uint64_t failed = 0;
  uint64_t skipped = 0;  ///< Cases; skipped counts ops.
  uint64_t duration_ms = 0;
  std::vector<OpTestReport> ops;
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  std::vector<ValidationResult> results;  ///< As in FuzzResults.
  std::string execution;  ///< As in FuzzResults.
  bool operator==(const TestReportReply&) const = default;
};

struct JobStartedReply {
  uint64_t job_id = 0;
  bool operator==(const JobStartedReply&) const = default;
};

struct JobStatusReply {
  uint64_t job_id = 0;
  JobState state = JobState::Running;
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t failures = 0;
  double rate = 0;  ///< Cases per second.
  std::optional<double> seconds_left;  ///< Absent while unknown.
  /// Why the job failed: Stopped with the daemon, LimitExceeded.
  std::optional<WireErrorCode> code;
  /// Lines from JobStatusRequest::log_from on; empty for a client that asks for `lines`. Warnings
  /// begin with "warning: ".
  std::vector<std::string> log;
  std::vector<JobEvent> events;  ///< From JobStatusRequest::events_from on; empty: not sent.
  std::vector<JobLine> lines;  ///< The log from JobStatusRequest::lines_from on.
  /// The final reply as encode_reply wrote it, "" while the job runs. Sent as an object, not as
  /// text.
  std::string result_json;
  bool operator==(const JobStatusReply&) const = default;
};

struct DevicesReply {
  std::vector<DeviceInfo> devices;
  std::vector<RemoteWorkerInfo> remote_workers;
  bool operator==(const DevicesReply&) const = default;
};

struct ConfigShowReply {
  std::string path;  ///< The file in use, "" when there is none.
  std::vector<ConfigSetting> settings;
  bool operator==(const ConfigShowReply&) const = default;
};

struct DaemonStatusReply {
  std::string version;
  std::string backend;
  std::string socket_path;
  std::string config_path;
  std::string storage_path;
  uint64_t pid = 0;
  uint64_t uptime_secs = 0;
  uint64_t workers = 0;
  uint64_t jobs_running = 0;
  uint64_t requests_served = 0;
  std::vector<DeviceInfo> devices;
  std::map<std::string, std::string> start_settings;  ///< Read when it started and not again.
  std::string build;  ///< GNU build id of the daemon's program; "": built without one.
  uint64_t projects = 0;  ///< How many are open.
  std::vector<std::string> notes;  ///< What a user of this project should know; told once.
  std::string damage;  ///< What is known to be damaged in the database; "": nothing.
  std::vector<RemoteWorkerInfo> remote_workers;
  /// Where kernels run: "workers"; with --no-workers "local", in the daemon while no remote worker
  /// is connected, or "remote", nowhere then.
  std::string execution;
  bool operator==(const DaemonStatusReply&) const = default;
};

struct CaseReply {
  std::string case_json;  ///< The case as JSON text; sent as an object in `case`.
  NamedTensors inputs;
  bool operator==(const CaseReply&) const = default;
};

struct BaselineListReply {
  std::vector<BaselineInfo> baselines;  ///< In order of tag.
  bool operator==(const BaselineListReply&) const = default;
};

/// One baseline as a whole; also the form of a baseline that lives in a file.
struct BaselineReply {
  uint64_t schema_version = kBaselineSchemaVersion;
  std::string tag;
  std::vector<ValidationResult> results;
  std::vector<ArtifactMetrics> artifacts;
  bool operator==(const BaselineReply&) const = default;
};

/// What cases reached of one kernel.
struct KernelCoverageReply {
  std::string kernel;
  std::vector<std::string> ops;  ///< The ops whose cases ran.
  uint64_t seed = 0;
  uint64_t cases = 0;
  uint64_t failed = 0;
  uint64_t replayed = 0;  ///< Cases of the corpus, among all.
  std::vector<CoveredLine> lines;
  std::vector<BranchWay> branches;
  uint64_t blocks = 0;
  uint64_t blocks_total = 0;
  uint64_t edges = 0;
  uint64_t edges_total = 0;
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  std::string execution;  ///< As in FuzzResults.
  bool operator==(const KernelCoverageReply&) const = default;
};

struct CalibrationReply {
  std::string op_name;
  std::string kernel;
  uint64_t seed = 0;
  std::string backend;
  std::string device;
  std::vector<CalibratedDType> dtypes;
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  std::string execution;  ///< As in FuzzResults.
  bool operator==(const CalibrationReply&) const = default;
};

/// A case with everything that running it takes.
struct ExportedCaseReply {
  ValidationResult result;  ///< The failure as it is stored.
  std::string version;
  std::string arch;
  std::string kernel;
  std::string ptx;
  /// File name to text; the kernel's own comes first in `source`.
  std::map<std::string, std::string> sources;
  std::string source;  ///< Key of `sources`; "" when there is none.
  std::vector<ExportedTensor> tensors;
  std::vector<ExportedLaunch> launches;
  NamedTensors inputs;  ///< Packed.
  NamedTensors expected;  ///< What the reference says, unrounded.
  NamedTensors bounds;  ///< How far each element may lie from it.
  std::string nan_policy;  ///< "match", "class" or "any"
  bool operator==(const ExportedCaseReply&) const = default;
};

struct MutationReportReply {
  std::string op_name;
  std::string kernel;
  DType dtype = DType::Float32;
  uint64_t seed = 0;
  uint64_t cases = 0;  ///< Per mutant.
  uint64_t found = 0;  ///< Mutants that the kernel has, of which `total` were chosen.
  uint64_t total = 0;
  uint64_t killed = 0;
  uint64_t survived = 0;
  uint64_t equivalent = 0;
  uint64_t invalid = 0;
  uint64_t not_run = 0;
  std::optional<double> score;  ///< killed / (killed + survived); absent when both are 0.
  std::vector<MutantReport> mutants;
  uint64_t duration_ms = 0;
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  std::string execution;  ///< As in FuzzResults.
  bool operator==(const MutationReportReply&) const = default;
};

struct KernelComparisonReply {
  std::string before;
  std::string after;
  EntryVerdict verdict = EntryVerdict::None;  ///< The gravest of the entries'.
  std::vector<EntryDifference> entries;
  bool operator==(const KernelComparisonReply&) const = default;
};

struct FailuresDeletedReply {
  uint64_t count = 0;
  bool operator==(const FailuresDeletedReply&) const = default;
};

struct ExplainResultReply {
  uint64_t seed = 0;
  std::string op_name;
  std::string kernel;
  ExplainVerdict verdict = ExplainVerdict::Passes;
  std::vector<std::string> sentences;  ///< What happened and what to do, for people.
  std::string output;
  int64_t index = 0;
  double computed = 0;
  double exact = 0;
  double reference = 0;
  double tolerance = 0;  ///< Allowed distance from the reference.
  double bound = 0;  ///< How far rounding may have taken the computed value from the exact one.
  std::vector<ExplainedOutput> outputs;
  std::optional<ExplainedStep> divergence;  ///< Where the element's error begins.
  std::vector<ExplainedStep> slice;  ///< What it is made of, the last instruction first.
  uint64_t other_decisions = 0;  ///< Branches that the exact values take otherwise.
  std::optional<ExplainedStep> first_other_decision;
  bool complete = true;  ///< False where the history was too long to keep.
  std::string guess;  ///< As in OpTestReport, where the case fails.
  std::optional<Disagreement> disagreement;
  bool operator==(const ExplainResultReply&) const = default;
};

struct BoundsReportReply {
  std::vector<LaunchBounds> launches;
  uint64_t total = 0;
  uint64_t proved = 0;  ///< Accesses of all launches.
  uint64_t duration_ms = 0;
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  bool operator==(const BoundsReportReply&) const = default;
};

struct ProjectsReply {
  std::string default_id;  ///< The project of requests that name none.
  std::vector<ProjectInfo> projects;
  bool operator==(const ProjectsReply&) const = default;
};

}  // namespace gpuemu
