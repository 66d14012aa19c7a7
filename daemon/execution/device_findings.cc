// Converts findings of devices and of the harness to findings of a result.
#include "daemon/execution/device_findings.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/protocol/findings.h"
#include "daemon/case/case_work.h"

namespace gpuemu {
namespace {

/// Returns the kind of finding for the result of a case; nothing for a note.
std::optional<FindingKind> finding_kind(DeviceFindingKind kind) {
  switch (kind) {
#define GPUEMU_DEVICE_FINDING(kind, name, effect, finding) \
  case DeviceFindingKind::kind:                            \
    return FindingKind::finding;
#define GPUEMU_DEVICE_NOTE(kind, name) \
  case DeviceFindingKind::kind:        \
    return std::nullopt;
#define GPUEMU_DEVICE_UNCHECKED(kind, name, text) \
  case DeviceFindingKind::kind:                   \
    return std::nullopt;
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
#undef GPUEMU_DEVICE_UNCHECKED
  }
  GPUEMU_UNREACHABLE();
}

ValidationFailure from_device(const DeviceFinding& finding, FindingKind kind) {
  ValidationFailure failure{.kind = kind, .message = finding.message};
  // The device looks for this only if the invariant is declared.
  if (finding.kind == DeviceFindingKind::WrittenTwice) {
    failure.message = "invariant written_once: " + failure.message;
  }
  failure.output = finding.tensor;
  failure.source_file = finding.file;
  failure.source_line = finding.line;
  return failure;
}

std::string describe(const HarnessFinding& finding) {
  switch (finding.kind) {
    case HarnessFinding::Kind::NotWritten:
      return fmt::format("{} of output '{}' {} never written, the first is element {}",
                         counted(finding.count, "element"), finding.tensor,
                         finding.count == 1 ? "was" : "were", finding.first_index);
    case HarnessFinding::Kind::GuardDamaged:
      return fmt::format("{} around '{}' {} overwritten, the first at byte {}",
                         counted(finding.count, "guard byte"), finding.tensor,
                         finding.count == 1 ? "was" : "were", finding.first_index);
    case HarnessFinding::Kind::InputModified:
      return fmt::format("{} of input '{}' {} changed, the first is element {}",
                         counted(finding.count, "element"), finding.tensor,
                         finding.count == 1 ? "was" : "were", finding.first_index);
    case HarnessFinding::Kind::NonDeterministic:
      return fmt::format(
          "{} of output '{}' {} between two runs of the same inputs, the first is element {}{}",
          counted(finding.count, "element"), finding.tensor,
          finding.count == 1 ? "differs" : "differ", finding.first_index, finding.message);
    case HarnessFinding::Kind::Launch:
      return finding.message;
    case HarnessFinding::Kind::StaleOutput:
      return fmt::format(
          "all {} elements of output '{}' are those of the launch before, which had other inputs "
          "at the same addresses; the kernel keeps results between launches",
          finding.count, finding.tensor);
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
    case HarnessFinding::Kind::StaleOutput:
      return FindingKind::StaleOutput;
  }
  GPUEMU_UNREACHABLE();
}

ValidationFailure from_harness(const HarnessFinding& finding) {
  ValidationFailure failure{.kind = kind_of(finding.kind), .message = describe(finding)};
  if (finding.kind != HarnessFinding::Kind::Launch) failure.index = finding.first_index;
  failure.output = finding.tensor;
  return failure;
}

/// Returns whether a fault prevented a later launch: then no launch has written the outputs.
bool ended_early(const ExecutionReport& report, const std::vector<PlanLaunch>& launches) {
  if (launches.empty()) return false;
  const auto before_last = std::span(launches).first(launches.size() - 1);
  return std::ranges::any_of(report.device, [&](const DeviceFinding& finding) {
    return is_fault(finding) &&
           std::ranges::find(before_last, finding.entry, &PlanLaunch::entry) != before_last.end();
  });
}

}  // namespace

std::vector<ValidationFailure> findings_before_values(const ExecutionReport& report) {
  std::vector<ValidationFailure> all;
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind == HarnessFinding::Kind::Launch) all.push_back(from_harness(finding));
  }
  for (const DeviceFinding& finding : report.device) {
    if (const auto kind = finding_kind(finding.kind)) all.push_back(from_device(finding, *kind));
  }
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind != HarnessFinding::Kind::Launch &&
        finding.kind != HarnessFinding::Kind::NonDeterministic &&
        finding.kind != HarnessFinding::Kind::StaleOutput) {
      all.push_back(from_harness(finding));
    }
  }
  return all;
}

std::optional<ValidationFailure> stale_output(const ExecutionReport& report,
                                              const std::string& output) {
  for (const HarnessFinding& finding : report.harness) {
    const bool is_it = finding.kind == HarnessFinding::Kind::StaleOutput;
    if (is_it && finding.tensor == output) return from_harness(finding);
  }
  return std::nullopt;
}

std::vector<ValidationFailure> findings_after_values(const ExecutionReport& report) {
  std::vector<ValidationFailure> all;
  for (const HarnessFinding& finding : report.harness) {
    if (finding.kind == HarnessFinding::Kind::NonDeterministic) {
      all.push_back(from_harness(finding));
    }
  }
  return all;
}

std::set<std::string> unchecked_parts(const ExecutionReport& report) {
  std::set<std::string> parts;
  for (const DeviceFinding& finding : report.device) {
    if (is_unchecked(finding)) parts.insert(finding.message);
  }
  return parts;
}

void explain_values(std::vector<ValidationFailure>& failures, const ExecutionReport& report) {
  for (ValidationFailure& failure : failures) {
    for (const DeviceFinding& finding : report.device) {
      const bool explains = (finding.kind == DeviceFindingKind::NonfiniteNan &&
                             failure.kind == FindingKind::NaNDetected) ||
                            (finding.kind == DeviceFindingKind::NonfiniteInf &&
                             failure.kind == FindingKind::InfDetected);
      if (explains) failure.message += "; " + finding.message;
    }
  }
}

bool outputs_are_void(const std::vector<ValidationFailure>& findings) {
  return std::ranges::any_of(findings, [](const ValidationFailure& failure) {
    return finding_info(failure.kind).effect == FindingEffect::EndsLaunch;
  });
}

const ValidationFailure* cause_of_values(const std::vector<ValidationFailure>& findings) {
  const auto found = std::ranges::find_if(findings, [](const ValidationFailure& failure) {
    return finding_info(failure.kind).effect == FindingEffect::TaintsValues;
  });
  return found == findings.end() ? nullptr : &*found;
}

std::string describe_cause(const ValidationFailure& cause) {
  const std::string place = cause.source_file.empty()
                                ? ""
                                : fmt::format(" at {}:{}", cause.source_file, cause.source_line);
  return fmt::format("the {} above{} can cause these wrong values; fix it first",
                     name_of(cause.kind), place);
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

Result<Next> collect_faults(CaseWork& work) {
  CaseReport& report = work.report;
  std::vector<ValidationFailure>& failures = report.result.failures;
  const Result<ExecutionReport>& kernel = work.execution.kernel;
  if (kernel) {
    failures = findings_before_values(*kernel);
    work.instructions = kernel->thread_instructions;
    report.printed = kernel->printed;
    // Hardware does not count instructions and does not observe writes.
    if (work.instructions > 0 && work.built.plan.sanitize.has(DeviceCheck::Writes)) {
      report.notes.insert(CaseNote::WrittenOnce);
    }
    if (std::ranges::any_of(kernel->device, is_redundancy)) {
      report.notes.insert(CaseNote::RedundantThreads);
    }
    report.remarks.merge(unchecked_parts(*kernel));
  } else {
    failures.push_back(finding_of(kernel.error()));
  }
  const auto& reference = work.execution.reference;
  if (reference && !*reference) {
    failures.push_back(
        {.kind = FindingKind::ReferenceError, .message = reference->error().message});
    return Next::SkipValues;
  }
  const bool is_void =
      outputs_are_void(failures) || (kernel && ended_early(*kernel, work.built.plan.launches));
  // An export shows the expected values even if the outputs are meaningless.
  return is_void && !work.wants(Extra::Export) ? Next::SkipValues : Next::Continue;
}

}  // namespace gpuemu
