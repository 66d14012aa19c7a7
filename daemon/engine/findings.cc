// Tables from the device's and the harness's words to finding kinds.
#include "daemon/engine/findings.h"

#include <algorithm>

namespace gpuemu {
namespace {

struct DeviceKindRow {
  std::string_view device_kind;  // A prefix: "uninitialized" also covers "uninitialized_shared".
  FindingKind kind;
  bool outputs_void;
};
constexpr DeviceKindRow kDeviceKinds[] = {
    {"out_of_bounds", FindingKind::OutOfBounds, false},
    {"misaligned", FindingKind::Misaligned, false},
    {"uninitiali", FindingKind::UninitializedRead, false},
    {"division_by_zero", FindingKind::UninitializedRead, false},
    {"race", FindingKind::DataRace, false},
    {"barrier_divergence", FindingKind::BarrierDivergence, false},
    {"illegal_mask", FindingKind::IllegalSync, false},
    {"mbarrier", FindingKind::IllegalSync, false},
    {"deadlock", FindingKind::IllegalSync, true},
    {"timeout", FindingKind::Timeout, true},
    {"stack_overflow", FindingKind::DeviceFault, true},
    {"trap", FindingKind::Trap, true},
    {"assert", FindingKind::Trap, true},
    {"unsupported_instruction", FindingKind::UnsupportedInstruction, true},
};

ValidationFailure from_device(const DeviceFinding& finding) {
  ValidationFailure failure{.kind = FindingKind::DeviceFault, .message = finding.message};
  for (const DeviceKindRow& row : kDeviceKinds) {
    if (finding.kind.starts_with(row.device_kind)) failure.kind = row.kind;
  }
  failure.output = finding.tensor;
  failure.source_file = finding.file;
  failure.source_line = finding.line;
  return failure;
}

/// Where a NaN or an infinity comes from: it explains a finding and is none.
bool is_note(const DeviceFinding& finding) { return finding.kind.starts_with("nonfinite"); }

std::string words_of(const HarnessFinding& finding) {
  switch (finding.kind) {
    case HarnessFinding::Kind::NotWritten:
      return fmt::format("{} elements of output '{}' were never written, the first is element {}",
                         finding.count, finding.tensor, finding.first_index);
    case HarnessFinding::Kind::GuardDamaged:
      return fmt::format("{} guard bytes around '{}' were overwritten, the first at byte {}",
                         finding.count, finding.tensor, finding.first_index);
    case HarnessFinding::Kind::InputModified:
      return fmt::format("{} elements of input '{}' were changed, the first is element {}",
                         finding.count, finding.tensor, finding.first_index);
    case HarnessFinding::Kind::NonDeterministic:
      return fmt::format(
          "{} elements of output '{}' differ between two runs of the same inputs, the first is "
          "element {}; set deterministic = false when that is meant",
          finding.count, finding.tensor, finding.first_index);
    case HarnessFinding::Kind::Launch:
      return finding.message;
  }
  GPUEMU_UNREACHABLE();
}

FindingKind kind_of(HarnessFinding::Kind kind) {
  switch (kind) {
    case HarnessFinding::Kind::NotWritten:
      return FindingKind::NotWritten;
    case HarnessFinding::Kind::GuardDamaged:
      return FindingKind::GuardDamaged;
    case HarnessFinding::Kind::InputModified:
      return FindingKind::InputModified;
    case HarnessFinding::Kind::NonDeterministic:
      return FindingKind::NonDeterministic;
    case HarnessFinding::Kind::Launch:
      return FindingKind::LaunchError;
  }
  GPUEMU_UNREACHABLE();
}

ValidationFailure from_harness(const HarnessFinding& finding) {
  ValidationFailure failure{.kind = kind_of(finding.kind), .message = words_of(finding)};
  if (finding.kind != HarnessFinding::Kind::Launch) failure.index = finding.first_index;
  failure.output = finding.tensor;
  return failure;
}

}  // namespace

std::vector<ValidationFailure> findings_before_values(const ExecutionReport& report) {
  std::vector<ValidationFailure> all;
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind == HarnessFinding::Kind::Launch) all.push_back(from_harness(finding));
  }
  for (const DeviceFinding& finding : report.device) {
    if (!is_note(finding)) all.push_back(from_device(finding));
  }
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind != HarnessFinding::Kind::Launch &&
        finding.kind != HarnessFinding::Kind::NonDeterministic) {
      all.push_back(from_harness(finding));
    }
  }
  return all;
}

std::vector<ValidationFailure> findings_after_values(const ExecutionReport& report) {
  std::vector<ValidationFailure> all;
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind == HarnessFinding::Kind::NonDeterministic)
      all.push_back(from_harness(finding));
  }
  return all;
}

void explain_values(std::vector<ValidationFailure>& failures, const ExecutionReport& report) {
  for (ValidationFailure& failure : failures)
    for (const DeviceFinding& finding : report.device) {
      const FindingKind explained =
          finding.kind == "nonfinite_nan" ? FindingKind::NaNDetected : FindingKind::InfDetected;
      if (is_note(finding) && failure.kind == explained) failure.message += "; " + finding.message;
    }
}

bool outputs_are_void(const std::vector<ValidationFailure>& findings) {
  return std::ranges::any_of(findings, [](const ValidationFailure& failure) {
    if (failure.kind == FindingKind::LaunchError || failure.kind == FindingKind::DeviceFault ||
        failure.kind == FindingKind::WorkerLost) {
      return true;
    }
    return std::ranges::any_of(kDeviceKinds, [&](const DeviceKindRow& row) {
      return row.kind == failure.kind && row.outputs_void &&
             (row.kind != FindingKind::IllegalSync ||
              failure.message.find("deadlock") != std::string::npos);
    });
  });
}

ValidationFailure finding_of(const Error& failure) {
  switch (failure.code) {
    case ErrorCode::Timeout:
      return {.kind = FindingKind::Timeout, .message = failure.message};
    case ErrorCode::Unavailable:
      return {.kind = FindingKind::WorkerLost, .message = failure.message};
    default:
      return {.kind = FindingKind::LaunchError, .message = failure.message};
  }
}

}  // namespace gpuemu
