#include "runtime/run_record/run_record.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "common/base/text.h"

namespace gpuemu {
namespace {

constexpr size_t kFramesShown = 4;

std::string index_text(const Dim3& of) { return fmt::format("({},{},{})", of.x, of.y, of.z); }

std::string place_text(const std::string& file, uint32_t line, uint32_t ptx_line) {
  if (line != 0) return fmt::format("{}:{}", file, line);
  return ptx_line != 0 ? fmt::format("PTX line {}", ptx_line) : "";
}

std::string frame_text(const RunFrame& frame) {
  if (frame.file.empty()) return frame.function;
  const std::string place =
      frame.line == 0 ? frame.file : fmt::format("{}:{}", frame.file, frame.line);
  return frame.function.empty() ? place : fmt::format("{} ({})", place, frame.function);
}

/// Returns "  launched at  a.c:19 (main)" and `behind_first`, with the callers in the lines below.
std::string stack_text(std::string_view label, const std::vector<RunFrame>& stack,
                       std::string_view behind_first = "") {
  constexpr std::string_view kIndent = "                ";
  std::string text;
  for (size_t i = 0; i < stack.size() && i < kFramesShown; ++i) {
    text += i == 0 ? fmt::format("  {:14}", label) : std::string(kIndent);
    text += fmt::format("{}{}\n", frame_text(stack[i]), i == 0 ? behind_first : "");
  }
  if (stack.size() > kFramesShown) {
    text += fmt::format("{}and {} more\n", kIndent, stack.size() - kFramesShown);
  }
  return text;
}

/// Returns "  in test       tests/test_add.py::test_add[32]".
std::string tests_text(const std::vector<std::string>& tests) {
  std::string text = fmt::format("  {:14}{}", "in test", tests.front());
  if (tests.size() > 1) text += fmt::format(" and {} more", tests.size() - 1);
  return text + "\n";
}

/// Returns "24 bytes after the end of its 4000 bytes".
std::string offset_text(const RunAllocation& of) {
  if (of.offset < 0) {
    return fmt::format("{} before the start of its {}",
                       counted(static_cast<uint64_t>(-of.offset), "byte"),
                       counted(of.bytes, "byte"));
  }
  const auto at = static_cast<uint64_t>(of.offset);
  if (at >= of.bytes) {
    return fmt::format("{} after the end of its {}", counted(at - of.bytes, "byte"),
                       counted(of.bytes, "byte"));
  }
  return fmt::format("byte {} of its {}", at, of.bytes);
}

/// Returns the line "  and at        a.cu:7", with kernel and stack if the other access is from
/// another piece of work.
std::string other_text(const RunFinding& finding) {
  const RunOther& other = *finding.other;
  if (!other.host.call.empty() && other.kernel.empty()) {
    const bool is_read = finding.kind == run_kind_of(DeviceFindingKind::Uninitialized);
    return stack_text(is_read ? "read at" : "and at", other.host.stack);
  }
  std::string text =
      fmt::format("  {:14}{}", "and at", place_text(other.file, other.line, other.ptx_line));
  if (other.kernel.empty()) return text + "\n";
  text += fmt::format(", kernel {}\n", other.kernel);
  if (!other.instruction.empty()) {
    text += fmt::format("  {:14}{}\n", "instruction", other.instruction);
  }
  return text + stack_text("launched at", other.host.stack);
}

}  // namespace

std::string_view name_of(RunSeverity severity) {
  switch (severity) {
    case RunSeverity::Error:
      return "error";
    case RunSeverity::Warning:
      return "warning";
    case RunSeverity::Note:
      return "note";
  }
  return "";
}

std::string run_kind_of(DeviceFindingKind kind) {
  // Reports of `gpuemu run` name these after what the threads do, not after what the emulator
  // detects.
  if (kind == DeviceFindingKind::RedundantStores) return "ReplicaStore";
  if (kind == DeviceFindingKind::RedundantReads) return "DeadReplicaRead";
  switch (kind) {
#define GPUEMU_DEVICE_FINDING(device_kind, name, effect, finding) \
  case DeviceFindingKind::device_kind:                            \
    return #finding;
#define GPUEMU_DEVICE_NOTE(device_kind, name) \
  case DeviceFindingKind::device_kind:        \
    return #device_kind;
#define GPUEMU_DEVICE_UNCHECKED(device_kind, name, text) \
  case DeviceFindingKind::device_kind:                   \
    return kRunUnchecked;
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
#undef GPUEMU_DEVICE_UNCHECKED
  }
  return "";
}

std::vector<std::string> run_kinds() {
  std::set<std::string> kinds;
#define GPUEMU_DEVICE_FINDING(device_kind, name, effect, finding) kinds.insert(#finding);
#define GPUEMU_DEVICE_NOTE(device_kind, name) kinds.insert(#device_kind);
#define GPUEMU_DEVICE_UNCHECKED(device_kind, name, text)
#define GPUEMU_RUN_FINDING(kind, what) kinds.insert(#kind);
#include "runtime/device/device_findings.def"
#include "runtime/run_record/run_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
#undef GPUEMU_DEVICE_UNCHECKED
#undef GPUEMU_RUN_FINDING
  return {kinds.begin(), kinds.end()};
}

std::string fold_key(const RunFinding& one) {
  // Without source lines, PTX lines distinguish places. A host call without a line is identified by
  // its message and stack.
  const RunOther other = one.other.value_or(RunOther{});
  std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", one.kind, one.ptx_kernel, one.process,
                  one.file, one.line, one.line == 0 ? one.ptx_line : 0, other.file, other.line,
                  other.line == 0 ? other.ptx_line : 0, other.ptx_kernel, other.host.call);
  if (!one.ptx_kernel.empty() || one.line != 0) return key;
  key += "|" + one.message;
  for (const RunFrame& frame : one.host.stack) key += "|" + frame.function;
  return key;
}

void merge(RunFinding& known, const RunFinding& again) {
  known.count += again.count;
  for (const std::string& test : again.tests) {
    if (std::ranges::find(known.tests, test) == known.tests.end()) known.tests.push_back(test);
  }
}

std::vector<RunFinding> fold(std::vector<RunFinding> findings) {
  std::map<std::string, size_t> known;
  std::vector<RunFinding> kept;
  for (RunFinding& one : findings) {
    const auto [place, is_new] = known.try_emplace(fold_key(one), kept.size());
    if (is_new) {
      kept.push_back(std::move(one));
    } else {
      merge(kept[place->second], one);
    }
  }
  return kept;
}

std::string text_of(const RunFinding& finding) {
  std::string text =
      fmt::format("{}[{}]: {}\n", name_of(finding.severity), finding.kind, finding.message);
  const std::string times = finding.count > 1 ? fmt::format(", {} times", finding.count) : "";
  if (!finding.kernel.empty()) {
    const std::string place = place_text(finding.file, finding.line, finding.ptx_line);
    text +=
        fmt::format("  {:14}{}{}kernel {}", "at", place, place.empty() ? "" : ", ", finding.kernel);
    // The race detector knows which thread came first only within one launch; a launch that failed
    // has no threads; an unmeasured instruction and what was not checked concern the whole kernel.
    if (finding.kind != kRunStreamRace && finding.kind != kRunUncheckedError &&
        finding.kind != kRunUnmeasured && finding.kind != kRunUnchecked) {
      text += fmt::format(", thread {} of block {}", index_text(finding.thread),
                          index_text(finding.block));
    }
    text += times + "\n";
    if (!finding.instruction.empty()) {
      text += fmt::format("  {:14}{}\n", "instruction", finding.instruction);
    }
    const bool is_of_launch = finding.other && finding.other->host.call.empty();
    if (is_of_launch) text += other_text(finding);
    text += stack_text("launched at", finding.host.stack);
    if (finding.other && !is_of_launch) text += other_text(finding);
  } else {
    text += stack_text("at", finding.host.stack, times);
    if (finding.other) text += other_text(finding);
  }
  if (finding.allocation) {
    const RunAllocation& memory = *finding.allocation;
    text += fmt::format("  {:14}{}, {}\n", "memory", memory.name, offset_text(memory));
    text += stack_text("allocated at", memory.stack);
    text += stack_text("freed at", memory.freed);
  }
  if (!finding.tests.empty()) text += tests_text(finding.tests);
  return text;
}

std::string summary_of(const std::vector<RunFinding>& findings,
                       const std::vector<RunProcess>& processes) {
  uint64_t faults = 0, notes = 0, kernels = 0, launches = 0, unfinished = 0, rejected = 0;
  for (const RunFinding& one : findings) {
    if (one.suppressed) continue;
    ++(one.severity == RunSeverity::Note ? notes : faults);
  }
  for (const RunProcess& one : processes) {
    kernels += one.kernels;
    launches += one.launches;
    unfinished += one.unfinished;
    rejected += one.rejected;
  }
  std::string text = "gpuemu: " + counted(faults, "finding");
  if (notes != 0) text += ", " + counted(notes, "note");
  text += fmt::format(" in {}, {} of {}", counted(kernels, "kernel"), counted(launches, "launch"),
                      counted(processes.size(), "process"));
  if (launches == 0) text += "; no kernel was launched, so none was checked";
  if (unfinished != 0) {
    text +=
        fmt::format("; {} {} not checked, because {} did not end", counted(unfinished, "launch"),
                    unfinished == 1 ? "was" : "were", unfinished == 1 ? "it" : "they");
  }
  if (rejected != 0) {
    text +=
        fmt::format("; {} failed, which the program was told", counted(rejected, "more launch"));
  }
  return text;
}

}  // namespace gpuemu
