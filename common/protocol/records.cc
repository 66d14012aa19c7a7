// The names of the enumerations of the wire, one table each.
#include "common/protocol/records.h"

#include <array>
#include <string_view>

#include "common/protocol/names.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"

namespace gpuemu {
namespace {

// In the order of the enumerators.
constexpr std::array kFindingNames = {"ToleranceExceeded",
                                      "NaNDetected",
                                      "InfDetected",
                                      "ShapeMismatch",
                                      "DTypeMismatch",
                                      "InvariantViolation",
                                      "ReferenceError",
                                      "LaunchError",
                                      "Timeout",
                                      "WorkerLost",
                                      "OutOfBounds",
                                      "Misaligned",
                                      "UninitializedRead",
                                      "DataRace",
                                      "BarrierDivergence",
                                      "IllegalSync",
                                      "UnsupportedInstruction",
                                      "Trap",
                                      "DeviceFault",
                                      "NotWritten",
                                      "GuardDamaged",
                                      "InputModified",
                                      "NonDeterministic",
                                      "DivisionByZero",
                                      "Deadlock",
                                      "StackOverflow",
                                      "RelationViolation",
                                      "StaleOutput"};
static_assert(kFindingNames.size() == static_cast<size_t>(kLastFindingKind) + 1);

constexpr std::array kLayoutNames = {"Contiguous", "Strided", "Transposed"};
constexpr std::array kLowerLayoutNames = {"contiguous", "strided", "transposed"};
constexpr std::array kSourceNames = {"Ptx", "Sass", "Both"};
constexpr std::array kLintNames = {"ExcessiveRegisters",    "ExcessiveSpills",
                                   "ExcessiveLocalMemory",  "MissingRequiredPattern",
                                   "ForbiddenPatternFound", "ExcessiveSharedMemory",
                                   "ExcessiveInstructions", "LowOccupancy"};
static_assert(kLintNames.size() == static_cast<size_t>(LintKind::LowOccupancy) + 1);
constexpr std::array kStrategyNames = {"BinarySearchDims", "BinarySearchValues"};
constexpr std::array kJobStateNames = {"running", "done", "cancelled", "failed"};
constexpr std::array kErrorNames = {
    "OpNotFound",       "ReferenceScriptFailed", "InvalidRequest",        "InternalError",
    "NotFound",         "ConfigError",           "KernelNotFound",        "ArtifactNotFound",
    "BaselineNotFound", "PtxParseError",         "CuobjdumpNotAvailable", "VersionMismatch"};
static_assert(kErrorNames.size() == static_cast<size_t>(WireErrorCode::VersionMismatch) + 1);

constexpr std::array kRequestTypes = {"Ping",
                                      "Shutdown",
                                      "ValidateOp",
                                      "SubmitOutput",
                                      "GetResult",
                                      "ListResults",
                                      "ListFailures",
                                      "StoreBaseline",
                                      "CompareBaseline",
                                      "FuzzOp",
                                      "Reproduce",
                                      "Minimize",
                                      "LintKernel",
                                      "StoreArtifact",
                                      "StoreArtifactBaseline",
                                      "DiffArtifactBaseline",
                                      "GetArtifact",
                                      "ListArtifacts",
                                      "RunCi",
                                      "GetCiSummary",
                                      "GetTestCase",
                                      "GetTestBatch",
                                      "RunTests",
                                      "JobStatus",
                                      "JobCancel",
                                      "Devices",
                                      "ConfigShow",
                                      "DaemonStatus",
                                      "GetCase",
                                      "Inspect",
                                      "ListBaselines",
                                      "GetBaseline",
                                      "DeleteBaseline",
                                      "KernelCoverage",
                                      "Calibrate",
                                      "ExportCase",
                                      "Mutate",
                                      "CompareKernels",
                                      "DeleteFailures",

                                      "Explain",
                                      "Prove"};
static_assert(kRequestTypes.size() == std::variant_size_v<Request>);

constexpr std::array kReplyTypes = {"Pong",
                                    "Ok",
                                    "ValidationResult",
                                    "SubmitResult",
                                    "Results",
                                    "BaselineComparison",
                                    "FuzzResults",
                                    "ReproduceResult",
                                    "MinimizeResult",
                                    "LintResults",
                                    "ArtifactMetricsResult",
                                    "ArtifactList",
                                    "ArtifactDiffs",
                                    "CiRunComplete",
                                    "TestCase",
                                    "TestBatch",
                                    "Error",
                                    "TestReport",
                                    "JobStarted",
                                    "JobStatus",
                                    "Devices",
                                    "ConfigShow",
                                    "DaemonStatus",
                                    "Case",
                                    "BaselineList",
                                    "Baseline",
                                    "KernelCoverage",
                                    "Calibration",
                                    "ExportedCase",
                                    "MutationReport",
                                    "KernelComparison",
                                    "FailuresDeleted",

                                    "ExplainResult",
                                    "BoundsReport"};
static_assert(kReplyTypes.size() == std::variant_size_v<Reply>);

template <typename Enum, size_t kCount>
const char* spelling(const std::array<const char*, kCount>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  GPUEMU_CHECK(index < kCount);
  return names[index];
}

template <typename Enum, size_t kCount>
std::optional<Enum> find(const std::array<const char*, kCount>& names, std::string_view name) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(FindingKind kind) { return spelling(kFindingNames, kind); }

std::optional<FindingKind> finding_kind_from_name(const std::string& name) {
  if (name == "ReferenceScriptFailed") return FindingKind::ReferenceError;
  if (name == "DtypeMismatch") return FindingKind::DTypeMismatch;
  return find<FindingKind>(kFindingNames, name);
}

const char* name_of(LayoutKind layout) { return spelling(kLayoutNames, layout); }
const char* lower_name_of(LayoutKind layout) { return spelling(kLowerLayoutNames, layout); }

std::optional<LayoutKind> layout_from_name(const std::string& name) {
  const auto layout = find<LayoutKind>(kLayoutNames, name);
  return layout ? layout : find<LayoutKind>(kLowerLayoutNames, name);
}

const char* name_of(ArtifactSource source) { return spelling(kSourceNames, source); }
std::optional<ArtifactSource> artifact_source_from_name(const std::string& name) {
  return find<ArtifactSource>(kSourceNames, name);
}

const char* name_of(LintKind kind) { return spelling(kLintNames, kind); }
std::optional<LintKind> lint_kind_from_name(const std::string& name) {
  return find<LintKind>(kLintNames, name);
}

const char* name_of(MinimizeStrategy strategy) { return spelling(kStrategyNames, strategy); }
std::optional<MinimizeStrategy> minimize_strategy_from_name(const std::string& name) {
  return find<MinimizeStrategy>(kStrategyNames, name);
}

const char* name_of(JobState state) { return spelling(kJobStateNames, state); }
std::optional<JobState> job_state_from_name(const std::string& name) {
  return find<JobState>(kJobStateNames, name);
}

const char* name_of(WireErrorCode code) { return spelling(kErrorNames, code); }
std::optional<WireErrorCode> wire_error_code_from_name(const std::string& name) {
  return find<WireErrorCode>(kErrorNames, name);
}

WireErrorCode wire_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return WireErrorCode::InvalidRequest;
    case ErrorCode::NotFound:
      return WireErrorCode::NotFound;
    case ErrorCode::Compile:
      return WireErrorCode::PtxParseError;
    case ErrorCode::Corruption:
    case ErrorCode::Unsupported:
    case ErrorCode::Unavailable:
    case ErrorCode::Timeout:
    case ErrorCode::ResourceExhausted:
    case ErrorCode::Io:
    case ErrorCode::Launch:
    case ErrorCode::Cancelled:
    case ErrorCode::Internal:
      return WireErrorCode::InternalError;
  }
  GPUEMU_UNREACHABLE();
}

ErrorReply error_reply(const Error& error) { return {wire_code_of(error.code), error.message}; }

std::span<const char* const> request_types() { return kRequestTypes; }
std::span<const char* const> reply_types() { return kReplyTypes; }

const char* type_of(const Request& request) { return kRequestTypes[request.index()]; }
const char* type_of(const Reply& reply) { return kReplyTypes[reply.index()]; }

}  // namespace gpuemu
