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
/// Returns for example "error".
std::string_view name_of(RunSeverity severity);

/// A stack frame. `file` is "" and `line` 0 if there is no debug information.
struct RunFrame {
  std::string function, file;
  uint32_t line = 0;
  bool operator==(const RunFrame&) const = default;
};

struct RunAllocation {
  std::string name;  ///< The name used in the message, such as "allocation 1".
  uint64_t bytes = 0;
  int64_t offset = 0;                  ///< Offset of the first byte accessed; may be outside.
  std::vector<RunFrame> stack, freed;  ///< Where it was allocated, and where it was freed.
};

struct RunHostCall {
  std::string call;  ///< For example "cuLaunchKernel"; "" if unknown.
  std::vector<RunFrame> stack;
};

/// The other half of a pair, such as the second access of a race.
struct RunOther {
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  // Set if it belongs to another piece of work than the finding.
  std::string instruction = {};
  std::string kernel = {}, ptx_kernel = {};
  RunHostCall host = {};
};

struct RunFinding {
  std::string kind;  ///< A name in docs/reference/findings.md, such as "OutOfBounds".
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
  /// Node ids of the pytest tests in which it occurred, the first one first; empty outside pytest.
  std::vector<std::string> tests;
  bool suppressed = false;
  std::string suppression_reason;  ///< Why it is accepted; "" if it is not suppressed.
};

/// An unimplemented driver function that the program called.
struct RunUnsupported {
  std::string call;
  uint64_t count = 0;
};

/// A launched kernel.
struct RunKernel {
  std::string kernel, ptx_kernel;  ///< Demangled and as in PTX.
  std::string test;                ///< The pytest test that launched it; "" outside pytest.
  auto operator<=>(const RunKernel&) const = default;
};

/// How often the threads of a kernel executed a form of an instruction.
struct RunForm {
  std::string kernel, ptx_kernel;
  std::string form;  ///< "ld.global.f32"
  int sm = 0;        ///< Architecture of the device.
  uint64_t count = 0;
};

/// The file with the PTX of a launched kernel.
struct RunCode {
  std::string kernel, ptx_kernel;
  std::string file;  ///< In the folder of the run.
  int sm = 0;
  auto operator<=>(const RunCode&) const = default;
};

/// A form of an instruction in a kernel, and how certain it is that its bits match a GPU's.
struct RunFidelity {
  std::string kernel, ptx_kernel, form;
  std::optional<uint64_t> count;  ///< Executions by threads; nothing if they were not counted.
  std::string what;               ///< "exact", "defined", "modelled" or "unsupported".
  std::string why;
  int sm = 0;
  bool of_architecture = false;  ///< Other architectures may give other bits.
};

/// The record that a process writes when it ends.
struct RunProcess {
  int pid = 0;
  std::vector<std::string> command;
  uint64_t launches = 0, kernels = 0;  ///< Launches, and distinct kernels launched.
  uint64_t unfinished = 0;  ///< Launches that had not ended with the process, so are not checked.
  uint64_t rejected = 0;    ///< Launches for which the program got an error; not in `launches`.
};

/// The kinds of run_findings.def: for example, kRunUseAfterFree is "UseAfterFree".
#define GPUEMU_RUN_FINDING(kind, what) inline constexpr const char* kRun##kind = #kind;
#include "runtime/run_record/run_findings.def"
#undef GPUEMU_RUN_FINDING

/// Returns the name that reports use for a kind of device finding, such as "OutOfBounds".
std::string run_kind_of(DeviceFindingKind kind);

/// Returns every kind that can be in a report, sorted.
std::vector<std::string> run_kinds();

/// Returns the key that identifies a finding: two with the same key are reported as one.
std::string fold_key(const RunFinding& finding);

/// Adds the counts and the tests of `again`, which has the same key, to `known`.
void merge(RunFinding& known, const RunFinding& again);

/// Merges findings with the same key. Keeps the order.
std::vector<RunFinding> fold(std::vector<RunFinding> findings);

/// Returns "error[OutOfBounds]: reads 4 bytes ..." followed by the indented lines `at`, `launched
/// at`, `allocated at`, `freed at` and `in test`. Ends with a line feed.
std::string text_of(const RunFinding& finding);

/// Returns "gpuemu: 2 findings, 1 note in 3 kernels, 17 launches of 1 process", without a line
/// feed.
std::string summary_of(const std::vector<RunFinding>& findings,
                       const std::vector<RunProcess>& processes);

}  // namespace gpuemu
