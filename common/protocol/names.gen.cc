// The names of the enumerations of the wire.
// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.
// clang-format off
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/daemon.gen.h"
#include "common/protocol/errors.gen.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/records.gen.h"
#include "common/protocol/requests.gen.h"
#include "common/protocol/sessions.gen.h"
#include "common/protocol/storage.gen.h"

#include "common/protocol/names.h"

namespace gpuemu {

constexpr const char* kStepKindNames[] = {
    "compute", "load", "store", "cancels", "absorbs", "overflows", "coarse", "amplifies", "grows"
};
const char* name_of(StepKind value) { return name_among(kStepKindNames, value); }
std::optional<StepKind> step_kind_from_name(const std::string& name) {
  return value_among<StepKind>(kStepKindNames, name);
}

constexpr const char* kExplainVerdictNames[] = {
    "passes", "logic", "numerical", "rounding", "unknown", "skipped"
};
const char* name_of(ExplainVerdict value) { return name_among(kExplainVerdictNames, value); }
std::optional<ExplainVerdict> explain_verdict_from_name(const std::string& name) {
  return value_among<ExplainVerdict>(kExplainVerdictNames, name);
}

constexpr const char* kFindingKindNames[] = {
    "ToleranceExceeded", "NaNDetected", "InfDetected", "ShapeMismatch", "DTypeMismatch",
    "InvariantViolation", "ReferenceError", "LaunchError", "Timeout", "WorkerLost", "OutOfBounds",
    "Misaligned", "UninitializedRead", "DataRace", "BarrierDivergence", "IllegalSync",
    "UnsupportedInstruction", "Trap", "DeviceFault", "NotWritten", "GuardDamaged", "InputModified",
    "NonDeterministic", "DivisionByZero", "Deadlock", "StackOverflow", "RelationViolation",
    "StaleOutput"
};
const char* name_of(FindingKind value) { return name_among(kFindingKindNames, value); }
std::optional<FindingKind> finding_kind_from_name(const std::string& name) {
  if (name == "DtypeMismatch") return FindingKind::DTypeMismatch;
  if (name == "ReferenceScriptFailed") return FindingKind::ReferenceError;
  return value_among<FindingKind>(kFindingKindNames, name);
}

constexpr const char* kLayoutKindNames[] = {
    "Contiguous", "Strided", "Transposed"
};
const char* name_of(LayoutKind value) { return name_among(kLayoutKindNames, value); }
std::optional<LayoutKind> layout_from_name(const std::string& name) {
  if (name == "contiguous") return LayoutKind::Contiguous;
  if (name == "strided") return LayoutKind::Strided;
  if (name == "transposed") return LayoutKind::Transposed;
  return value_among<LayoutKind>(kLayoutKindNames, name);
}

constexpr const char* kMinimizeStrategyNames[] = {
    "BinarySearchDims", "BinarySearchValues"
};
const char* name_of(MinimizeStrategy value) { return name_among(kMinimizeStrategyNames, value); }
std::optional<MinimizeStrategy> minimize_strategy_from_name(const std::string& name) {
  return value_among<MinimizeStrategy>(kMinimizeStrategyNames, name);
}

constexpr const char* kArtifactSourceNames[] = {
    "Ptx", "Sass", "Both"
};
const char* name_of(ArtifactSource value) { return name_among(kArtifactSourceNames, value); }
std::optional<ArtifactSource> artifact_source_from_name(const std::string& name) {
  return value_among<ArtifactSource>(kArtifactSourceNames, name);
}

constexpr const char* kLintKindNames[] = {
    "ExcessiveRegisters", "ExcessiveSpills", "ExcessiveLocalMemory", "MissingRequiredPattern",
    "ForbiddenPatternFound", "ExcessiveSharedMemory", "ExcessiveInstructions", "LowOccupancy"
};
const char* name_of(LintKind value) { return name_among(kLintKindNames, value); }
std::optional<LintKind> lint_kind_from_name(const std::string& name) {
  return value_among<LintKind>(kLintKindNames, name);
}

constexpr const char* kOccupancyLimiterNames[] = {
    "registers", "shared memory", "warps", "blocks"
};
const char* name_of(OccupancyLimiter value) { return name_among(kOccupancyLimiterNames, value); }
std::optional<OccupancyLimiter> occupancy_limiter_from_name(const std::string& name) {
  return value_among<OccupancyLimiter>(kOccupancyLimiterNames, name);
}

constexpr const char* kMetricVerdictNames[] = {
    "regression", "improvement", "warning", "change"
};
const char* name_of(MetricVerdict value) { return name_among(kMetricVerdictNames, value); }
std::optional<MetricVerdict> metric_verdict_from_name(const std::string& name) {
  return value_among<MetricVerdict>(kMetricVerdictNames, name);
}

constexpr const char* kOpStateNames[] = {
    "ran", "skipped", "stopped", "no_variant_fits", "runs_in_client", "broken"
};
const char* name_of(OpState value) { return name_among(kOpStateNames, value); }
std::optional<OpState> op_state_from_name(const std::string& name) {
  return value_among<OpState>(kOpStateNames, name);
}

constexpr const char* kJobLineKindNames[] = {
    "failure", "warning", "compiling", "note"
};
const char* name_of(JobLineKind value) { return name_among(kJobLineKindNames, value); }
std::optional<JobLineKind> job_line_kind_from_name(const std::string& name) {
  return value_among<JobLineKind>(kJobLineKindNames, name);
}

constexpr const char* kTensorRoleNames[] = {
    "input", "output", "inout", "scratch"
};
const char* name_of(TensorRole value) { return name_among(kTensorRoleNames, value); }
std::optional<TensorRole> tensor_role_from_name(const std::string& name) {
  return value_among<TensorRole>(kTensorRoleNames, name);
}

constexpr const char* kMutantStatusNames[] = {
    "killed", "survived", "equivalent", "invalid", "not_run"
};
const char* name_of(MutantStatus value) { return name_among(kMutantStatusNames, value); }
std::optional<MutantStatus> mutant_status_from_name(const std::string& name) {
  return value_among<MutantStatus>(kMutantStatusNames, name);
}

constexpr const char* kDifferenceKindNames[] = {
    "structural", "constant", "sync", "memory", "predicate"
};
const char* name_of(DifferenceKind value) { return name_among(kDifferenceKindNames, value); }
std::optional<DifferenceKind> difference_kind_from_name(const std::string& name) {
  return value_among<DifferenceKind>(kDifferenceKindNames, name);
}

constexpr const char* kEntryVerdictNames[] = {
    "none", "constant", "sync", "structural", "only before", "only after"
};
const char* name_of(EntryVerdict value) { return name_among(kEntryVerdictNames, value); }
std::optional<EntryVerdict> entry_verdict_from_name(const std::string& name) {
  return value_among<EntryVerdict>(kEntryVerdictNames, name);
}

constexpr const char* kMemoryUseKindNames[] = {
    "load", "store", "atomic", "copy to", "copy from", "access", "call"
};
const char* name_of(MemoryUseKind value) { return name_among(kMemoryUseKindNames, value); }
std::optional<MemoryUseKind> memory_use_kind_from_name(const std::string& name) {
  return value_among<MemoryUseKind>(kMemoryUseKindNames, name);
}

constexpr const char* kWireErrorCodeNames[] = {
    "OpNotFound", "ReferenceScriptFailed", "InvalidRequest", "InternalError", "NotFound",
    "ConfigError", "KernelNotFound", "ArtifactNotFound", "BaselineNotFound", "PtxParseError",
    "ProjectNotFound", "Busy", "Damaged", "Stopped", "SessionNotFound", "LimitExceeded",
    "Unauthorized", "CuobjdumpNotAvailable", "VersionMismatch"
};
const char* name_of(WireErrorCode value) { return name_among(kWireErrorCodeNames, value); }
std::optional<WireErrorCode> wire_error_code_from_name(const std::string& name) {
  return value_among<WireErrorCode>(kWireErrorCodeNames, name);
}

constexpr const char* kCiProfileNames[] = {
    "quick", "default", "thorough"
};
const char* name_of(CiProfile value) { return name_among(kCiProfileNames, value); }
std::optional<CiProfile> ci_profile_from_name(const std::string& name) {
  return value_among<CiProfile>(kCiProfileNames, name);
}

constexpr const char* kStorageStateNames[] = {
    "whole", "damaged", "repaired"
};
const char* name_of(StorageState value) { return name_among(kStorageStateNames, value); }
std::optional<StorageState> storage_state_from_name(const std::string& name) {
  return value_among<StorageState>(kStorageStateNames, name);
}

constexpr const char* kJobStateNames[] = {
    "running", "done", "cancelled", "failed"
};
const char* name_of(JobState value) { return name_among(kJobStateNames, value); }
std::optional<JobState> job_state_from_name(const std::string& name) {
  return value_among<JobState>(kJobStateNames, name);
}

constexpr const char* kSessionClassNames[] = {
    "auto", "interactive", "batch"
};
const char* name_of(SessionClass value) { return name_among(kSessionClassNames, value); }
std::optional<SessionClass> session_class_from_name(const std::string& name) {
  return value_among<SessionClass>(kSessionClassNames, name);
}

constexpr const char* kWorkerStateNames[] = {
    "idle", "busy", "lost"
};
const char* name_of(WorkerState value) { return name_among(kWorkerStateNames, value); }
std::optional<WorkerState> worker_state_from_name(const std::string& name) {
  return value_among<WorkerState>(kWorkerStateNames, name);
}

}  // namespace gpuemu
