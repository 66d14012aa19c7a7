// Defines the findings of `gpuemu run` and their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device_finding.h"
#include "runtime/device/launch_shape.h"

namespace gpuemu {

enum class RunSeverity : uint8_t { Error, Warning, Note };
/// "error"
std::string_view name_of(RunSeverity severity);

/// One frame of a stack. `file` is "" and `line` 0 when there is no debug information.
struct RunFrame {
  std::string function, file;
  uint32_t line = 0;
  bool operator==(const RunFrame&) const = default;
};

struct RunAllocation {
  std::string name;  ///< "allocation 1", as in the message.
  uint64_t bytes = 0;
  int64_t offset = 0;                  ///< Where the first byte touched lies; may be outside.
  std::vector<RunFrame> stack, freed;  ///< Where it was made and where it was freed.
};

struct RunHostCall {
  std::string call;  ///< "cuLaunchKernel"; "" when unknown.
  std::vector<RunFrame> stack;
};

/// The other end of a pair, such as the second access of a race.
struct RunOther {
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  // Where it is another piece of work than that of the finding.
  std::string instruction = {};
  std::string kernel = {}, ptx_kernel = {};
  RunHostCall host = {};
};

struct RunFinding {
  std::string kind;  ///< A name of docs/reference/findings.md, such as "OutOfBounds".
  RunSeverity severity = RunSeverity::Error;
  std::string message;
  std::string kernel, ptx_kernel;  ///< Demangled and as in PTX; "" for a host call.
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  std::string instruction;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  uint64_t count = 1;
  std::optional<RunAllocation> allocation;
  RunHostCall host;
  std::optional<RunOther> other;
  int process = 0;  ///< The process id.
  /// The node ids of the pytest tests in which it occurred, the first one first; empty outside of
  /// pytest.
  std::vector<std::string> tests;
  bool suppressed = false;
  std::string suppression_reason;  ///< Why it is accepted; "" unless it is suppressed.
};

/// A driver function that the program called and that is not implemented.
struct RunUnsupported {
  std::string call;
  uint64_t count = 0;
};

/// A kernel that was launched.
struct RunKernel {
  std::string kernel, ptx_kernel;  ///< Demangled and as in PTX.
  std::string test;                ///< The pytest test that launched it; "" outside of pytest.
  auto operator<=>(const RunKernel&) const = default;
};

/// How often the threads of a kernel executed a form of an instruction.
struct RunForm {
  std::string kernel, ptx_kernel;
  std::string form;  ///< "ld.global.f32"
  int sm = 0;        ///< The architecture of the device.
  uint64_t count = 0;
};

/// Where the PTX of a launched kernel is.
struct RunCode {
  std::string kernel, ptx_kernel;
  std::string file;  ///< In the folder of the run.
  int sm = 0;
  auto operator<=>(const RunCode&) const = default;
};

/// A form of an instruction in a kernel, and how far its bits are known to be those of a GPU.
struct RunFidelity {
  std::string kernel, ptx_kernel, form;
  std::optional<uint64_t> count;  ///< By threads; nothing where it was not counted.
  std::string what;               ///< "exact", "defined", "modelled" or "unsupported".
  std::string why;
  int sm = 0;
  bool of_architecture = false;  ///< Another architecture may give other bits.
};

/// What one process leaves when it ends.
struct RunProcess {
  int pid = 0;
  std::vector<std::string> command;
  uint64_t launches = 0, kernels = 0;  ///< Launches, and different kernels launched.
};

/// The kinds of run_findings.def: kRunUseAfterFree is "UseAfterFree".
#define GPUEMU_RUN_FINDING(kind, what) inline constexpr const char* kRun##kind = #kind;
#include "runtime/run_record/run_findings.def"
#undef GPUEMU_RUN_FINDING

/// Returns the kind of a device finding in reports: "OutOfBounds".
std::string run_kind_of(DeviceFindingKind kind);

/// Returns every kind that a report may have, sorted.
std::vector<std::string> run_kinds();

/// Returns what identifies a finding: two with the same key are reported as one.
std::string fold_key(const RunFinding& finding);

/// Adds the counts and the tests of `again`, which has the same key, to `known`.
void merge(RunFinding& known, const RunFinding& again);

/// Merges findings with the same key. Keeps the order.
std::vector<RunFinding> fold(std::vector<RunFinding> findings);

/// Returns "error[OutOfBounds]: reads 4 bytes ..." followed by indented lines: `at`, `launched at`,
/// `allocated at`, `freed at`, `in test`. Ends with a line feed.
std::string text_of(const RunFinding& finding);

/// Returns "gpuemu: 2 findings, 1 note in 3 kernels, 17 launches of 1 process", without a line
/// feed.
std::string summary_of(const std::vector<RunFinding>& findings,
                       const std::vector<RunProcess>& processes);

}  // namespace gpuemu
