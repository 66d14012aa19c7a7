// Every request of the wire protocol as one struct; a Request is one of them. The struct's name
// without "Request" is the wire's `type`.
// Written by tools/make_protocol.py from requests.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// The most that RunCi.budget_ms may be: a week.
inline constexpr uint64_t kBudgetMsMax = 604'800'000;

/// Is anybody there? Says what this daemon can do beyond version 1.
struct PingRequest {
  bool operator==(const PingRequest&) const = default;
};

/// Finishes what is running, then ends.
struct ShutdownRequest {
  bool operator==(const ShutdownRequest&) const = default;
};

/// Judges an output that the client computed by the op's reference.
struct ValidateOpRequest {
  std::string op_name;
  NamedTensors inputs;
  Tensor output;
  std::map<std::string, std::string> kwargs;
  std::optional<double> atol;
  std::optional<double> rtol;  ///< Accepted beyond the op's own tolerance.
  bool operator==(const ValidateOpRequest&) const = default;
};

/// As ValidateOp, of a case with a seed; the result is kept.
struct SubmitOutputRequest {
  std::string op_name;
  NamedTensors inputs;
  Tensor output;
  uint64_t seed = 0;
  std::map<std::string, std::string> kwargs;
  std::optional<double> atol;
  std::optional<double> rtol;  ///< As in ValidateOp.
  bool operator==(const SubmitOutputRequest&) const = default;
};

/// One stored result.
struct GetResultRequest {
  uint64_t seed = 0;
  std::string op_name;  ///< "" means the newest of any op.
  bool operator==(const GetResultRequest&) const = default;
};

/// Stored results, newest first.
struct ListResultsRequest {
  uint64_t limit = 100;
  std::string op_name;  ///< "" means all.
  bool operator==(const ListResultsRequest&) const = default;
};

/// Stored failures, newest first.
struct ListFailuresRequest {
  uint64_t limit = 100;
  std::string op_name;  ///< "" means all.
  bool operator==(const ListFailuresRequest&) const = default;
};

/// Keeps a failure of a program's check, whose folder runs it again.
struct StoreFailureRequest {
  uint64_t seed = 0;
  std::string op_name;
  std::vector<ValidationFailure> failures;
  std::string program_folder;  ///< Absolute.
  bool operator==(const StoreFailureRequest&) const = default;
};

/// Keeps the results of now under a tag.
struct StoreBaselineRequest {
  std::string tag;
  bool operator==(const StoreBaselineRequest&) const = default;
};

/// Compares the results of now with a baseline.
struct CompareBaselineRequest {
  std::string tag;
  std::vector<ValidationResult> baseline;  ///< Not empty: compare with these, `tag` is their name.
  bool same_cases = false;  ///< All results of now, each with the one of its own op and seed alone.
  bool operator==(const CompareBaselineRequest&) const = default;
};

/// Runs generated cases of one op.
struct FuzzOpRequest {
  std::string op_name;
  std::optional<FuzzConfig> fuzz_config;  ///< Exactly one of fuzz_config and config is set.
  std::optional<OwnFuzzConfig> config;
  uint64_t iterations = 100;  ///< Taken from config.iterations when that is set.
  bool fail_fast = false;
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool guided = false;  ///< Follow coverage, where the device counts it; only with `config`.
  std::optional<uint64_t> max_elements;  ///< As in RunTests.
  bool strict = false;  ///< As in RunTests.
  /// The number of the first of the `iterations` cases; only with `config`.
  std::optional<uint64_t> first_case;
  /// Instead of the stored corpus, which then stays as it is; only of a guided run.
  std::optional<std::vector<CorpusCase>> corpus;
  /// Send the result of every case, for whoever stores it elsewhere; failures come without
  /// diagnosis.
  bool results = false;
  bool operator==(const FuzzOpRequest&) const = default;
};

/// Makes a stored case again and runs it.
struct ReproduceRequest {
  uint64_t seed = 0;
  std::string op_name;  ///< "" means the newest failure with that seed.
  bool profile = false;  ///< Count what every line does.
  bool details = false;  ///< Send the error map, the PTX and the launches too.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const ReproduceRequest&) const = default;
};

/// Looks for the smallest case that fails as a stored one does.
struct MinimizeRequest {
  uint64_t seed = 0;
  MinimizeStrategy strategy = MinimizeStrategy::BinarySearchDims;
  uint64_t max_iters = 100;
  std::string op_name;  ///< "" means the newest failure with that seed.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const MinimizeRequest&) const = default;
};

/// Judges PTX text by a kernel's limits.
struct LintKernelRequest {
  std::optional<std::string> kernel_name;
  std::string ptx_content;
  bool operator==(const LintKernelRequest&) const = default;
};

/// How many cases `gpuemu ci` runs, and for how long.
enum class CiProfile {
  Quick,  ///< 10 cases, in the dtypes of ci.quick_dtypes.
  Default,  ///< As many as gpuemu.toml says.
  Thorough,  ///< 256 cases, up to ci.thorough_timeout_s.
};
inline constexpr CiProfile kLastCiProfile = CiProfile::Thorough;
/// The name on the wire, and back.
const char* name_of(CiProfile value);
std::optional<CiProfile> ci_profile_from_name(const std::string& name);

/// `gpuemu ci`: stored failures, generated cases, limits of kernels and a baseline in one run.
struct RunCiRequest {
  bool quick = false;
  std::optional<std::string> baseline;
  uint64_t parallel_jobs = 0;  ///< 0: from the configuration.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  std::optional<CiProfile> profile;  ///< Absent: 10 or 50 cases.
  std::optional<uint64_t> seed;  ///< Absent: validation.seed, else a fresh one.
  uint64_t budget_ms = 0;  ///< Time for all of it; 0: as long as the cases take.
  uint64_t shard = 0;
  uint64_t shards = 0;  ///< How many parts the work has, `shard` of which runs, from 1; 0: all.
  bool cached = false;  ///< Leave out what passed before and has not changed since.
  bool coverage = false;  ///< Count which source lines run.
  std::optional<uint64_t> max_elements;  ///< As in RunTests.
  bool strict = false;  ///< As in RunTests.
  bool snapshots = false;  ///< Send the inputs of failing cases; Reproduce has them anyway.
  std::vector<ArtifactMetrics> baseline_artifacts;  ///< In a file; `baseline` is its name.
  std::vector<ValidationResult> baseline_results;  ///< Its results; see baseline_artifacts.
  bool operator==(const RunCiRequest&) const = default;
};

/// The last CI run again.
struct GetCiSummaryRequest {
  bool operator==(const GetCiSummaryRequest&) const = default;
};

/// One generated case for the client to run.
struct GetTestCaseRequest {
  std::string op_name;
  FuzzConfig fuzz_config;
  bool operator==(const GetTestCaseRequest&) const = default;
};

/// Generated cases for the client to run.
struct GetTestBatchRequest {
  std::string op_name;
  FuzzConfig fuzz_config;
  uint64_t count = 1;
  bool operator==(const GetTestBatchRequest&) const = default;
};

/// `gpuemu test`: runs ops with kernels; ops empty means every configured one.
struct RunTestsRequest {
  std::vector<std::string> ops;
  std::vector<DType> dtypes;  ///< Empty means each op's own.
  uint64_t cases = 50;  ///< Per op and dtype.
  std::optional<uint64_t> seed;  ///< Absent: chosen by the daemon, told in the reply.
  std::vector<std::string> strategies;  ///< Empty means the default mixture.
  bool fail_fast = false;
  bool fragile = false;  ///< Run passing cases with other contractions too.
  /// Instead of the keys of this name in gpuemu.toml: elements of the largest tensor.
  std::optional<uint64_t> max_elements;
  bool strict = false;  ///< As validation.strict, of all ops.
  uint64_t first_case = 0;  ///< The number of the first of the `cases` of each op and dtype.
  bool results = false;  ///< As in FuzzOp; the reports then are pieces for FinishTests.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const RunTestsRequest&) const = default;
};

/// How far a job is; its result when it has ended.
struct JobStatusRequest {
  uint64_t job_id = 0;
  uint64_t log_from = 0;  ///< Lines of the log that the client already has.
  uint64_t wait_ms = 0;  ///< Answer earlier only when the job changes; bounded by the daemon.
  /// Cancel the job when nobody asks for it in so long; 0: it goes on whether or not anybody does.
  std::optional<uint64_t> lease_ms;
  /// Events that the client already has and that may be forgotten; absent: it wants none.
  std::optional<uint64_t> events_from;
  /// Lines that the client already has; absent: it wants `log`.
  std::optional<uint64_t> lines_from;
  bool operator==(const JobStatusRequest&) const = default;
};

/// Ends a job.
struct JobCancelRequest {
  uint64_t job_id = 0;
  bool operator==(const JobCancelRequest&) const = default;
};

/// The devices of the daemon.
struct DevicesRequest {
  bool operator==(const DevicesRequest&) const = default;
};

/// Every effective setting and where it comes from.
struct ConfigShowRequest {
  bool operator==(const ConfigShowRequest&) const = default;
};

/// What `gpuemu daemon status` prints.
struct DaemonStatusRequest {
  bool operator==(const DaemonStatusRequest&) const = default;
};

/// The inputs and the plan of one generated or stored case, nothing is run.
struct GetCaseRequest {
  std::string op_name;
  uint64_t seed = 0;
  bool operator==(const GetCaseRequest&) const = default;
};

/// `gpuemu lint`: measures kernels and judges them by their checks.
struct InspectRequest {
  std::vector<std::string> files;  ///< Absolute paths.
  std::vector<std::string> kernels;  ///< Names in gpuemu.toml; with no files either: all of them.
  std::vector<std::string> archs;  ///< "sm_80"; empty means the project's.
  uint32_t threads = 0;  ///< Per block, for occupancy; 0: from the launches.
  uint64_t dynamic_shared_bytes = 0;
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const InspectRequest&) const = default;
};

/// The tags, with how much each holds.
struct ListBaselinesRequest {
  bool operator==(const ListBaselinesRequest&) const = default;
};

/// One baseline as a whole.
struct GetBaselineRequest {
  std::string tag;
  bool operator==(const GetBaselineRequest&) const = default;
};

/// Removes a baseline.
struct DeleteBaselineRequest {
  std::string tag;
  bool operator==(const DeleteBaselineRequest&) const = default;
};

/// `gpuemu coverage --kernel`: runs the corpus and generated cases of every op that uses the kernel
/// and counts.
struct KernelCoverageRequest {
  std::string kernel;
  uint64_t cases = 0;  ///< Per op and dtype; 0: validation.cases.
  std::optional<uint64_t> seed;  ///< As in RunTests.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const KernelCoverageRequest&) const = default;
};

/// `gpuemu calibrate`: how large the kernel's errors are where it is right.
struct CalibrateRequest {
  std::string op_name;
  std::vector<DType> dtypes;  ///< Empty means the op's own.
  uint64_t cases = 0;  ///< Per dtype; 0: 256.
  std::optional<uint64_t> seed;  ///< As in RunTests.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const CalibrateRequest&) const = default;
};

/// `gpuemu export`: what a program without a daemon needs to run a stored failure.
struct ExportCaseRequest {
  uint64_t seed = 0;
  std::string op_name;  ///< "" means the newest failure with that seed.
  bool operator==(const ExportCaseRequest&) const = default;
};

/// `gpuemu mutate`: plants faults into an op's kernel and counts those that its cases find.
struct MutateRequest {
  std::string op_name;
  std::string kernel;  ///< A variant; "": the one that runs.
  std::optional<DType> dtype;  ///< Absent: the op's first.
  uint64_t cases = 0;  ///< Per mutant; 0: from the configuration.
  std::optional<uint64_t> seed;  ///< Absent: validation.seed, else a fresh one.
  uint64_t mutants_max = 0;  ///< More are drawn from by the seed; 0: all of them.
  uint64_t budget_ms = 0;  ///< No mutant begins later; 0: as long as it takes.
  std::vector<std::string> mutations;  ///< Only these; empty: all.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const MutateRequest&) const = default;
};

/// `gpuemu diff A.ptx B.ptx`: what two kernels do differently.
struct CompareKernelsRequest {
  std::string before;
  std::string after;  ///< Absolute paths of .ptx or .cu files.
  std::string arch;  ///< To compile .cu for; "" means the project's.
  bool operator==(const CompareKernelsRequest&) const = default;
};

/// `gpuemu failures --delete`. It needs seed, op_name or all.
struct DeleteFailuresRequest {
  std::optional<uint64_t> seed;
  std::string op_name;  ///< "" means any.
  bool all = false;
  bool operator==(const DeleteFailuresRequest&) const = default;
};

/// What `gpuemu explain` asks: where a wrong value comes from.
struct ExplainRequest {
  uint64_t seed = 0;
  std::string op_name;  ///< "" means the newest failure with that seed.
  std::string output;  ///< "" means the one whose error is the worst.
  std::optional<int64_t> index;  ///< Flat row-major; absent: the worst element.
  bool operator==(const ExplainRequest&) const = default;
};

/// `gpuemu prove`: which accesses of kernels stay inside of their tensors for all data.
struct ProveRequest {
  std::string op_name;  ///< "": all ops that have a kernel.
  std::string kernel;  ///< A variant; "": all of the op's.
  std::optional<DType> dtype;  ///< Absent: all of the op's.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const ProveRequest&) const = default;
};

/// `gpuemu projects`: the projects that the daemon knows.
struct ProjectsRequest {
  bool operator==(const ProjectsRequest&) const = default;
};

/// Makes the project of this request the one of requests that name none.
struct SetDefaultProjectRequest {
  bool operator==(const SetDefaultProjectRequest&) const = default;
};

/// `gpuemu projects move`: gives all that is stored of one project to another.
struct MoveProjectRequest {
  std::string old;  ///< Id or path of a gpuemu.toml, which need not be there any more.
  std::string new_path;  ///< Path of a gpuemu.toml.
  bool operator==(const MoveProjectRequest&) const = default;
};

/// `gpuemu projects forget`: deletes all that is stored of a project.
struct ForgetProjectRequest {
  std::string id;
  bool operator==(const ForgetProjectRequest&) const = default;
};

}  // namespace gpuemu
