// All requests together: a list for the preprocessor, and a variant.
// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit that and run it again.
// clang-format off
#pragma once

#include <variant>

#include "common/protocol/daemon.gen.h"
#include "common/protocol/ranges.gen.h"
#include "common/protocol/requests.gen.h"
#include "common/protocol/sessions.gen.h"
#include "common/protocol/storage.gen.h"
#include "common/protocol/tapes.gen.h"

namespace gpuemu {

// X(name, reply, pace, capability, about, needs_device) of every request.
#define GPUEMU_REQUESTS(X) \
  X(Ping, Pong, Quick, "", Daemon, false) \
  X(Shutdown, Ok, Quick, "", Daemon, false) \
  X(ValidateOp, ValidationResult, Long, "", Project, true) \
  X(SubmitOutput, SubmitResult, Long, "", Project, true) \
  X(GetResult, ValidationResult, Quick, "", Project, false) \
  X(ListResults, Results, Quick, "", Records, false) \
  X(ListFailures, Results, Quick, "", Records, false) \
  X(StoreFailure, Ok, Quick, "program_failures", Project, false) \
  X(StoreBaseline, Ok, Quick, "", Project, false) \
  X(CompareBaseline, BaselineComparison, Quick, "", Project, false) \
  X(FuzzOp, FuzzResults, Job, "", Project, true) \
  X(Reproduce, ReproduceResult, Job, "", Project, true) \
  X(Minimize, MinimizeResult, Job, "", Project, true) \
  X(LintKernel, LintResults, Quick, "", Project, false) \
  X(RunCi, CiRunComplete, Job, "ci", Project, true) \
  X(GetCiSummary, CiRunComplete, Quick, "", Project, false) \
  X(GetTestCase, TestCase, Quick, "", Project, false) \
  X(GetTestBatch, TestBatch, Long, "", Project, false) \
  X(RunTests, TestReport, Job, "run_tests", Project, true) \
  X(JobStatus, JobStatus, Long, "jobs", Daemon, false) \
  X(JobCancel, Ok, Quick, "", Daemon, false) \
  X(Devices, Devices, Quick, "", Project, false) \
  X(ConfigShow, ConfigShow, Quick, "", Project, false) \
  X(DaemonStatus, DaemonStatus, Quick, "", Project, false) \
  X(GetCase, Case, Long, "", Project, false) \
  X(Inspect, LintResults, Job, "inspect", Project, true) \
  X(ListBaselines, BaselineList, Quick, "baselines", Records, false) \
  X(GetBaseline, Baseline, Quick, "", Project, false) \
  X(DeleteBaseline, Ok, Quick, "", Project, false) \
  X(KernelCoverage, KernelCoverage, Job, "kernel_coverage", Project, true) \
  X(Calibrate, Calibration, Job, "calibrate", Project, true) \
  X(ExportCase, ExportedCase, Long, "export", Project, true) \
  X(Mutate, MutationReport, Job, "mutate", Project, true) \
  X(CompareKernels, KernelComparison, Long, "compare_kernels", Project, true) \
  X(DeleteFailures, FailuresDeleted, Long, "", Project, false) \
  X(Explain, ExplainResult, Long, "", Project, true) \
  X(Prove, BoundsReport, Job, "prove", Project, true) \
  X(Projects, Projects, Quick, "projects", Daemon, false) \
  X(SetDefaultProject, Ok, Long, "projects", Project, true) \
  X(MoveProject, Ok, Long, "projects", Daemon, false) \
  X(ForgetProject, Ok, Long, "projects", Daemon, false) \
  X(StoreArtifact, Ok, Quick, "artifacts", Project, false) \
  X(StoreArtifactBaseline, Ok, Quick, "", Project, false) \
  X(DiffArtifactBaseline, ArtifactDiffs, Quick, "", Project, false) \
  X(GetArtifact, ArtifactMetricsResult, Quick, "", Project, false) \
  X(ListArtifacts, ArtifactList, Quick, "", Records, false) \
  X(StorageClaim, StorageClaimed, Long, "projects", Project, false) \
  X(StorageStatus, StorageStatus, Long, "storage", Records, false) \
  X(StoragePrune, StoragePruned, Long, "storage", Records, false) \
  X(StorageVerify, StorageReport, Long, "storage", Daemon, false) \
  X(StorageBackup, Ok, Long, "storage", Daemon, false) \
  X(StorageCompact, StorageCompacted, Long, "storage", Daemon, false) \
  X(OpenSession, SessionOpened, Quick, "sessions", Project, false) \
  X(CloseSession, Ok, Quick, "sessions", Daemon, false) \
  X(SetSession, SessionInfo, Quick, "sessions", Daemon, false) \
  X(ListSessions, Sessions, Quick, "sessions", Daemon, false) \
  X(Top, Top, Quick, "sessions", Daemon, false) \
  X(JobList, Jobs, Quick, "sessions", Records, false) \
  X(WorkerRegister, WorkerAccepted, Quick, "remote_workers", Daemon, false) \
  X(SubmitTape, TapeAccepted, Long, "tapes", Daemon, false) \
  X(TapeStatus, TapeStatus, Long, "tapes", Daemon, false) \
  X(FetchTensor, Tensor, Long, "tapes", Daemon, false) \
  X(GetTrace, Trace, Long, "tapes", Daemon, false) \
  X(GetCorpus, Corpus, Quick, "ranges", Project, false) \
  X(StoreResults, Ok, Long, "ranges", Project, false) \
  X(FinishFuzz, FuzzFinished, Job, "ranges", Project, true) \
  X(FinishTests, TestReport, Job, "ranges", Project, true)

using RequestVariant = std::variant<
    PingRequest, ShutdownRequest, ValidateOpRequest, SubmitOutputRequest, GetResultRequest,
    ListResultsRequest, ListFailuresRequest, StoreFailureRequest, StoreBaselineRequest,
    CompareBaselineRequest, FuzzOpRequest, ReproduceRequest, MinimizeRequest, LintKernelRequest,
    RunCiRequest, GetCiSummaryRequest, GetTestCaseRequest, GetTestBatchRequest, RunTestsRequest,
    JobStatusRequest, JobCancelRequest, DevicesRequest, ConfigShowRequest, DaemonStatusRequest,
    GetCaseRequest, InspectRequest, ListBaselinesRequest, GetBaselineRequest, DeleteBaselineRequest,
    KernelCoverageRequest, CalibrateRequest, ExportCaseRequest, MutateRequest,
    CompareKernelsRequest, DeleteFailuresRequest, ExplainRequest, ProveRequest, ProjectsRequest,
    SetDefaultProjectRequest, MoveProjectRequest, ForgetProjectRequest, StoreArtifactRequest,
    StoreArtifactBaselineRequest, DiffArtifactBaselineRequest, GetArtifactRequest,
    ListArtifactsRequest, StorageClaimRequest, StorageStatusRequest, StoragePruneRequest,
    StorageVerifyRequest, StorageBackupRequest, StorageCompactRequest, OpenSessionRequest,
    CloseSessionRequest, SetSessionRequest, ListSessionsRequest, TopRequest, JobListRequest,
    WorkerRegisterRequest, SubmitTapeRequest, TapeStatusRequest, FetchTensorRequest,
    GetTraceRequest, GetCorpusRequest, StoreResultsRequest, FinishFuzzRequest, FinishTestsRequest>;

/// Pong.capabilities.
inline constexpr const char* kCapabilities[] = {
    "kernels", "jobs", "run_tests", "op_name", "minimize_stream", "artifacts", "baselines",
    "inspect", "ci", "proof", "guided", "kernel_coverage", "calibrate", "export", "mutate",
    "compare_kernels", "shared_memory", "prove", "projects", "program_failures", "storage",
    "sessions", "ranges", "remote_workers", "tapes"
};

}  // namespace gpuemu
