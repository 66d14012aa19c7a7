// What `gpuemu run` reports: findings of programs, as the processes write them and people read
// them.
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

/// One call of the program's. `file` and `line` are "" and 0 where no debug information tells them.
struct RunFrame {
  std::string function, file;
  uint32_t line = 0;
  bool operator==(const RunFrame&) const = default;
};

struct RunAllocation {
  std::string name;  ///< As the message calls it.
  uint64_t bytes = 0;
  int64_t offset = 0;                  ///< First byte touched; negative or past its end possible.
  std::vector<RunFrame> stack, freed;  ///< Where it was made and where it was freed.
};

struct RunHostCall {
  std::string call;  ///< "cuLaunchKernel"; "" where none is concerned.
  std::vector<RunFrame> stack;
};

/// The other end of a pair, such as the second access of a race.
struct RunOther {
  std::string file;
  uint32_t line = 0, ptx_line = 0;
};

struct RunFinding {
  std::string kind;  ///< As docs/reference/findings.md has it: "OutOfBounds".
  RunSeverity severity = RunSeverity::Error;
  std::string message;
  std::string kernel, ptx_kernel;  ///< Demangled, and as the PTX has it; "" for the host's.
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  std::string instruction;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  uint64_t count = 1;
  std::optional<RunAllocation> allocation;
  RunHostCall host;
  std::optional<RunOther> other;
  int process = 0;   ///< Its id.
  std::string test;  ///< The node id of a test of pytest.
  bool suppressed = false;
};

/// A call that the driver does not have.
struct RunUnsupported {
  std::string call;
  uint64_t count = 0;
};

/// What one process leaves when it ends.
struct RunProcess {
  int pid = 0;
  std::vector<std::string> command;
  uint64_t launches = 0, kernels = 0;  ///< Launches made, and different kernels in them.
};

/// Kinds that only whole programs have: run_findings.def.
#define GPUEMU_RUN_FINDING(kind, what) inline constexpr const char* kRun##kind = #kind;
#include "runtime/run_record/run_findings.def"
#undef GPUEMU_RUN_FINDING

/// "OutOfBounds": what reports call it; notes by their own names.
std::string run_kind_of(DeviceFindingKind kind);

/// Findings with the same key are one.
std::string fold_key(const RunFinding& finding);

/// Counts findings of one kind, kernel, pair of lines and process as one; keeps their order.
std::vector<RunFinding> fold(std::vector<RunFinding> findings);

/// "OutOfBounds: reads 4 bytes ..." and below it, indented, `at`, `launched at`, `allocated at`,
/// `freed at`. Ends with a line feed.
std::string text_of(const RunFinding& finding);

/// "gpuemu: 2 findings, 1 note in 3 kernels, 17 launches of 1 process", without a line feed.
std::string summary_of(const std::vector<RunFinding>& findings,
                       const std::vector<RunProcess>& processes);

}  // namespace gpuemu
