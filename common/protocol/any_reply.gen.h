// All replies together: a list for the preprocessor, and a variant.
// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit that and run it again.
// clang-format off
#pragma once

#include <variant>

#include "common/protocol/artifacts.gen.h"
#include "common/protocol/daemon.gen.h"
#include "common/protocol/errors.gen.h"
#include "common/protocol/ranges.gen.h"
#include "common/protocol/replies.gen.h"
#include "common/protocol/sessions.gen.h"
#include "common/protocol/storage.gen.h"
#include "common/protocol/tapes.gen.h"

namespace gpuemu {

// X(name) of every reply.
#define GPUEMU_REPLIES(X) \
  X(ArtifactMetricsResult) \
  X(ArtifactList) \
  X(ArtifactDiffs) \
  X(Pong) \
  X(Ok) \
  X(ValidationResult) \
  X(SubmitResult) \
  X(Results) \
  X(BaselineComparison) \
  X(FuzzResults) \
  X(ReproduceResult) \
  X(MinimizeResult) \
  X(LintResults) \
  X(CiRunComplete) \
  X(TestCase) \
  X(TestBatch) \
  X(TestReport) \
  X(JobStarted) \
  X(JobStatus) \
  X(Devices) \
  X(ConfigShow) \
  X(DaemonStatus) \
  X(Case) \
  X(BaselineList) \
  X(Baseline) \
  X(KernelCoverage) \
  X(Calibration) \
  X(ExportedCase) \
  X(MutationReport) \
  X(KernelComparison) \
  X(FailuresDeleted) \
  X(ExplainResult) \
  X(BoundsReport) \
  X(Projects) \
  X(Error) \
  X(StorageClaimed) \
  X(StorageStatus) \
  X(StoragePruned) \
  X(StorageReport) \
  X(StorageCompacted) \
  X(SessionOpened) \
  X(SessionInfo) \
  X(Sessions) \
  X(Top) \
  X(Jobs) \
  X(WorkerAccepted) \
  X(TapeAccepted) \
  X(TapeStatus) \
  X(Tensor) \
  X(Trace) \
  X(Corpus) \
  X(FuzzFinished)

using ReplyVariant = std::variant<
    ArtifactMetricsResultReply, ArtifactListReply, ArtifactDiffsReply, PongReply, OkReply,
    ValidationResultReply, SubmitResultReply, ResultsReply, BaselineComparisonReply,
    FuzzResultsReply, ReproduceResultReply, MinimizeResultReply, LintResultsReply,
    CiRunCompleteReply, TestCaseReply, TestBatchReply, TestReportReply, JobStartedReply,
    JobStatusReply, DevicesReply, ConfigShowReply, DaemonStatusReply, CaseReply, BaselineListReply,
    BaselineReply, KernelCoverageReply, CalibrationReply, ExportedCaseReply, MutationReportReply,
    KernelComparisonReply, FailuresDeletedReply, ExplainResultReply, BoundsReportReply,
    ProjectsReply, ErrorReply, StorageClaimedReply, StorageStatusReply, StoragePrunedReply,
    StorageReportReply, StorageCompactedReply, SessionOpenedReply, SessionInfoReply, SessionsReply,
    TopReply, JobsReply, WorkerAcceptedReply, TapeAcceptedReply, TapeStatusReply, TensorReply,
    TraceReply, CorpusReply, FuzzFinishedReply>;

}  // namespace gpuemu
