// Every request of the wire protocol as one struct; a Request is one of them. The struct's name
// without "Request" is the wire's `type`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/protocol/artifacts.h"
#include "common/protocol/explain.h"
#include "common/protocol/records.h"

namespace gpuemu {

using Kwargs = std::map<std::string, std::string>;

struct PingRequest {
  bool operator==(const PingRequest&) const = default;
};
struct ShutdownRequest {
  bool operator==(const ShutdownRequest&) const = default;
};

struct ValidateOpRequest {
  std::string op_name;
  NamedTensors inputs;
  Tensor output;
  Kwargs kwargs;
  std::optional<double> atol = std::nullopt,
                        rtol = std::nullopt;  ///< Accepted beyond the op's own tolerance.
  bool operator==(const ValidateOpRequest&) const = default;
};

struct SubmitOutputRequest {
  std::string op_name;
  NamedTensors inputs;
  Tensor output;
  Kwargs kwargs;
  uint64_t seed = 0;
  std::optional<double> atol = std::nullopt, rtol = std::nullopt;  ///< As in ValidateOpRequest.
  bool operator==(const SubmitOutputRequest&) const = default;
};

struct GetResultRequest {
  uint64_t seed = 0;
  std::string op_name;  ///< "" means the newest of any op.
  bool operator==(const GetResultRequest&) const = default;
};
struct ListResultsRequest {
  uint64_t limit = 100;
  std::string op_name;  ///< "" means all.
  bool operator==(const ListResultsRequest&) const = default;
};
struct ListFailuresRequest {
  uint64_t limit = 100;
  std::string op_name;  ///< "" means all.
  bool operator==(const ListFailuresRequest&) const = default;
};

struct StoreBaselineRequest {
  std::string tag;
  bool operator==(const StoreBaselineRequest&) const = default;
};
struct CompareBaselineRequest {
  std::string tag;
  std::vector<ValidationResult> baseline;  ///< Not empty: compare with these, `tag` is their name.
  bool same_cases = false;  ///< All results of now, each with the one of its own op and seed alone.
  bool operator==(const CompareBaselineRequest&) const = default;
};

/// FuzzOp.config of the project's own form; it selects the project's own generator.
struct OwnFuzzConfig {
  std::optional<uint64_t> iterations;
  Shape min_shape, max_shape;           ///< Empty means unrestricted.
  std::vector<DType> dtypes;            ///< Empty means the op's.
  std::vector<LayoutKind> layouts;      ///< Empty means all.
  std::vector<std::string> strategies;  ///< Empty means the default mixture.
  std::optional<uint64_t> seed;         ///< Absent: chosen by the daemon, told in the reply.
  bool operator==(const OwnFuzzConfig&) const = default;
};

struct FuzzOpRequest {
  std::string op_name;
  std::optional<FuzzConfig> fuzz_config;  ///< Exactly one of fuzz_config and config is set.
  std::optional<OwnFuzzConfig> config;
  uint64_t iterations = 100;  ///< Taken from config.iterations when that is set.
  bool fail_fast = false;
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool guided = false;  ///< Follow coverage, where the device counts it; only with `config`.
  std::optional<uint64_t> max_elements = std::nullopt;  ///< As in RunTestsRequest.
  bool strict = false;                                  ///< As in RunTestsRequest.
  bool operator==(const FuzzOpRequest&) const = default;
};

struct ReproduceRequest {
  uint64_t seed = 0;
  std::string op_name;   ///< "" means the newest failure with that seed.
  bool profile = false;  ///< Count what every line does.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const ReproduceRequest&) const = default;
};

enum class MinimizeStrategy { BinarySearchDims, BinarySearchValues };
const char* name_of(MinimizeStrategy strategy);
std::optional<MinimizeStrategy> minimize_strategy_from_name(const std::string& name);

struct MinimizeRequest {
  uint64_t seed = 0;
  MinimizeStrategy strategy = MinimizeStrategy::BinarySearchDims;
  uint64_t max_iters = 100;
  std::string op_name;  ///< "" means the newest failure with that seed.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const MinimizeRequest&) const = default;
};

struct LintKernelRequest {
  std::optional<std::string> kernel_name;
  std::string ptx_content;
  bool operator==(const LintKernelRequest&) const = default;
};
struct StoreArtifactRequest {
  std::string kernel_name;
  ArtifactMetrics metrics;
  bool operator==(const StoreArtifactRequest&) const = default;
};
struct StoreArtifactBaselineRequest {
  std::string tag;
  std::vector<std::string> kernels;  ///< Not empty: only metrics under these names.
  bool operator==(const StoreArtifactBaselineRequest&) const = default;
};
struct DiffArtifactBaselineRequest {
  std::string tag;
  std::vector<ArtifactMetrics> baseline;  ///< Not empty: compare with these, `tag` is their name.
  std::vector<std::string> kernels;       ///< Not empty: only metrics of now under these names.
  bool operator==(const DiffArtifactBaselineRequest&) const = default;
};
struct GetArtifactRequest {
  std::string kernel_name;
  bool operator==(const GetArtifactRequest&) const = default;
};
struct ListArtifactsRequest {
  bool operator==(const ListArtifactsRequest&) const = default;
};

struct RunCiRequest {
  bool quick = false;
  std::optional<std::string> baseline;
  uint64_t parallel_jobs = 0;  ///< 0: from the configuration.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  // Additions of ours; empty ones are not sent.
  std::string profile;             ///< "quick", "default" or "thorough"; "": 10 or 50 cases.
  std::optional<uint64_t> seed;    ///< Absent: validation.seed, else a fresh one.
  uint64_t budget_ms = 0;          ///< Time for all of it; 0: as long as the cases take.
  uint64_t shard = 0, shards = 0;  ///< The part of the work with this number, from 1; 0: all.
  bool cached = false;             ///< Leave out what passed before and has not changed since.
  bool coverage = false;           ///< Count which source lines run.
  std::optional<uint64_t> max_elements = std::nullopt;  ///< As in RunTestsRequest.
  bool strict = false;                                  ///< As in RunTestsRequest.
  bool snapshots = false;  ///< Send the inputs of failing cases; Reproduce has them anyway.
  std::vector<ArtifactMetrics> baseline_artifacts;  ///< Of a baseline that lives in a file;
  std::vector<ValidationResult> baseline_results;   ///< `baseline` is then only its name.
  bool operator==(const RunCiRequest&) const = default;
};
struct GetCiSummaryRequest {
  bool operator==(const GetCiSummaryRequest&) const = default;
};

struct GetTestCaseRequest {
  std::string op_name;
  FuzzConfig fuzz_config;
  bool operator==(const GetTestCaseRequest&) const = default;
};
struct GetTestBatchRequest {
  std::string op_name;
  FuzzConfig fuzz_config;
  uint64_t count = 1;
  bool operator==(const GetTestBatchRequest&) const = default;
};

// Additions of this project.

/// `gpuemu test`: runs ops with kernels; ops empty means every configured one.
struct RunTestsRequest {
  std::vector<std::string> ops;
  std::vector<DType> dtypes;            ///< Empty means each op's own.
  uint64_t cases = 50;                  ///< Per op and dtype.
  std::optional<uint64_t> seed;         ///< Absent: chosen by the daemon, told in the reply.
  std::vector<std::string> strategies;  ///< Empty means the default mixture.
  bool fail_fast = false;
  bool fragile = false;  ///< Run passing cases with other contractions too.
  /// Instead of the keys of this name in gpuemu.toml: elements of the largest tensor.
  std::optional<uint64_t> max_elements = std::nullopt;
  bool strict = false;  ///< As validation.strict, of all ops.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const RunTestsRequest&) const = default;
};

struct JobStatusRequest {
  uint64_t job_id = 0;
  uint64_t log_from = 0;  ///< Lines of the log that the client already has.
  uint64_t wait_ms = 0;   ///< Answer earlier only when the job changes; bounded by the daemon.
  /// Cancel the job when nobody asks for it in so long; 0: it goes on whether or not anybody does.
  std::optional<uint64_t> lease_ms = std::nullopt;
  /// Events that the client already has and that may be forgotten; absent: it wants none.
  std::optional<uint64_t> events_from = std::nullopt;
  bool operator==(const JobStatusRequest&) const = default;
};
struct JobCancelRequest {
  uint64_t job_id = 0;
  bool operator==(const JobCancelRequest&) const = default;
};

struct DevicesRequest {
  bool operator==(const DevicesRequest&) const = default;
};
struct ConfigShowRequest {
  bool operator==(const ConfigShowRequest&) const = default;
};
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
  std::vector<std::string> files;    ///< Absolute paths.
  std::vector<std::string> kernels;  ///< Of gpuemu.toml; both empty means every one of them.
  std::vector<std::string> archs;    ///< "sm_80"; empty means the project's.
  uint32_t threads = 0;              ///< Per block, for occupancy; 0: from the launches.
  uint64_t dynamic_shared_bytes = 0;
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const InspectRequest&) const = default;
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
  std::string kernel;                  ///< A variant; "": the one that runs.
  std::optional<DType> dtype;          ///< Absent: the op's first.
  uint64_t cases = 0;                  ///< Per mutant; 0: from the configuration.
  std::optional<uint64_t> seed;        ///< Absent: validation.seed, else a fresh one.
  uint64_t mutants_max = 0;            ///< More are drawn from by the seed; 0: all of them.
  uint64_t budget_ms = 0;              ///< No mutant begins later; 0: as long as it takes.
  std::vector<std::string> mutations;  ///< Only these; empty: all.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const MutateRequest&) const = default;
};

/// `gpuemu diff A.ptx B.ptx`: what two kernels do differently.
struct CompareKernelsRequest {
  std::string before, after;  ///< Absolute paths of .ptx or .cu files.
  std::string arch;           ///< To compile .cu for; "" means the project's.
  bool operator==(const CompareKernelsRequest&) const = default;
};

/// `gpuemu prove`: which accesses of kernels stay inside of their tensors for all data.
struct ProveRequest {
  std::string op_name;         ///< "": all ops that have a kernel.
  std::string kernel;          ///< A variant; "": all of the op's.
  std::optional<DType> dtype;  ///< Absent: all of the op's.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const ProveRequest&) const = default;
};

struct ListBaselinesRequest {
  bool operator==(const ListBaselinesRequest&) const = default;
};
struct GetBaselineRequest {
  std::string tag;
  bool operator==(const GetBaselineRequest&) const = default;
};
struct DeleteBaselineRequest {
  std::string tag;
  bool operator==(const DeleteBaselineRequest&) const = default;
};

/// `gpuemu coverage --kernel`: runs the corpus and generated cases of every op that uses the kernel
/// and counts.
struct KernelCoverageRequest {
  std::string kernel;
  uint64_t cases = 0;            ///< Per op and dtype; 0: validation.cases.
  std::optional<uint64_t> seed;  ///< As in RunTestsRequest.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const KernelCoverageRequest&) const = default;
};
/// `gpuemu calibrate`: how large the kernel's errors are where it is right.
struct CalibrateRequest {
  std::string op_name;
  std::vector<DType> dtypes;     ///< Empty means the op's own.
  uint64_t cases = 0;            ///< Per dtype; 0: 256.
  std::optional<uint64_t> seed;  ///< As in RunTestsRequest.
  bool stream = false;
  std::optional<uint64_t> lease_ms = std::nullopt;  ///< Of the job; as in JobStatusRequest.
  bool operator==(const CalibrateRequest&) const = default;
};

/// `gpuemu failures --delete`. REQUIRES: seed, op_name or all.
struct DeleteFailuresRequest {
  std::optional<uint64_t> seed;
  std::string op_name;  ///< "" means any.
  bool all = false;
  bool operator==(const DeleteFailuresRequest&) const = default;
};

using Request =
    std::variant<PingRequest, ShutdownRequest, ValidateOpRequest, SubmitOutputRequest,
                 GetResultRequest, ListResultsRequest, ListFailuresRequest, StoreBaselineRequest,
                 CompareBaselineRequest, FuzzOpRequest, ReproduceRequest, MinimizeRequest,
                 LintKernelRequest, StoreArtifactRequest, StoreArtifactBaselineRequest,
                 DiffArtifactBaselineRequest, GetArtifactRequest, ListArtifactsRequest,
                 RunCiRequest, GetCiSummaryRequest, GetTestCaseRequest, GetTestBatchRequest,
                 RunTestsRequest, JobStatusRequest, JobCancelRequest, DevicesRequest,
                 ConfigShowRequest, DaemonStatusRequest, GetCaseRequest, InspectRequest,
                 ListBaselinesRequest, GetBaselineRequest, DeleteBaselineRequest,
                 KernelCoverageRequest, CalibrateRequest, ExportCaseRequest, MutateRequest,
                 CompareKernelsRequest, DeleteFailuresRequest, ExplainRequest, ProveRequest>;

/// The wire's `type` of the request: "Ping", "ValidateOp", ...
const char* type_of(const Request& request);

}  // namespace gpuemu
