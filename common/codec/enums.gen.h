// Every enumeration of the wire.
// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.
// clang-format off
#pragma once

// X(enumeration, function that reads its name) of each.
#define GPUEMU_WIRE_ENUMS(X) \
  X(StepKind, step_kind_from_name) \
  X(ExplainVerdict, explain_verdict_from_name) \
  X(FindingKind, finding_kind_from_name) \
  X(LayoutKind, layout_from_name) \
  X(MinimizeStrategy, minimize_strategy_from_name) \
  X(ArtifactSource, artifact_source_from_name) \
  X(LintKind, lint_kind_from_name) \
  X(OccupancyLimiter, occupancy_limiter_from_name) \
  X(MetricVerdict, metric_verdict_from_name) \
  X(OpState, op_state_from_name) \
  X(JobLineKind, job_line_kind_from_name) \
  X(TensorRole, tensor_role_from_name) \
  X(MutantStatus, mutant_status_from_name) \
  X(DifferenceKind, difference_kind_from_name) \
  X(EntryVerdict, entry_verdict_from_name) \
  X(MemoryUseKind, memory_use_kind_from_name) \
  X(WireErrorCode, wire_error_code_from_name) \
  X(CiProfile, ci_profile_from_name) \
  X(StorageState, storage_state_from_name) \
  X(JobState, job_state_from_name) \
  X(SessionClass, session_class_from_name) \
  X(WorkerState, worker_state_from_name)
