// The state shared by all blocks of one launch.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/report/launch_report.h"

namespace gpuemu::emulator {

struct Program;
class GlobalRaces;
class Memory;
class StepObserver;
class Textures;

/// The checks that a launch makes.
struct Checks {
  bool init = false, race = false, sync = false, division = false, nonfinite = false;
  bool global_race = false;
  bool writes = false;   ///< Report bytes that are written by two stores.
  bool defines = false;  ///< Stores mark the bytes that they write; needed by `init` and `writes`.
  bool defers = false;   ///< LaunchConfig::defers_undefined; only with `init`.
  bool operator==(const Checks&) const = default;
};

/// Shared memory that the system reserves in every block from sm_80 on. Cooperative groups of
/// several warps keep their barriers in its second half, which starts as zeros
/// (cooperative_groups/details/memory.h of CUDA).
inline constexpr uint32_t kReservedSharedBytes = 1024, kReservedSharedAlign = 16;

/// Allocation granularity of a block's shared memory, in bytes (measured on sm_90).
inline constexpr uint32_t kSharedGranule = 128;

/// What a launch executes: program, entry, arguments, sizes and checks.
struct LaunchInputs {
  const Program* program = nullptr;
  const Code* entry = nullptr;
  const LaunchConfig* config = nullptr;
  std::vector<std::byte> params;      ///< The parameter buffer of the entry.
  std::vector<uint8_t> params_given;  ///< 1 for each byte of `params` that an argument covers.
  Dim3 cluster;                       ///< Blocks per cluster.
  uint32_t own_shared_bytes = 0;      ///< Static and dynamic shared memory of a block.
  uint32_t shared_bytes = 0;  ///< own_shared_bytes and the reserved part, if the program has it.
  int sm = 80;                ///< Compute capability: 80 for 8.0.
  Checks checks;
  Accesses accesses = 0;  ///< `checks` in the form that compiled code distinguishes.
  /// Names launches that have all of this in common; 0 if there is only one.
  uint64_t series = 0;
};

/// What a launch that may be executed again with the same LaunchConfig, such as a node of a graph,
/// keeps between its executions.
struct Repetition {
  std::optional<LaunchInputs> inputs;  ///< Made by the last execution.
};

/// Decides when a launch must end.
struct LaunchClock {
  std::chrono::steady_clock::time_point began;
  std::atomic<std::chrono::steady_clock::time_point> deadline;
  /// When the timeout began: with the launch, or when the end of a block was seen
  /// (LaunchConfig::timeout_restarts).
  std::atomic<std::chrono::steady_clock::time_point> counted_from;
  /// Processor time used by the process at that time.
  std::atomic<std::chrono::nanoseconds> processor_then{};
  std::atomic<uint64_t> executed_then = 0;  ///< LaunchProgress::executed at that time.
  std::atomic<bool> cut_short = false;      ///< end_soon() moved the deadline forward.
  std::atomic<bool> stop = false;           ///< Makes all blocks stop at their next time slice.
  /// Added to each block's clock, in its units, to skip time when all blocks only wait for it to
  /// pass.
  std::atomic<uint64_t> ahead = 0;
};

/// Progress counters of a launch. On cache lines of their own, because every block writes them
/// while every step reads the rest of the launch.
struct LaunchProgress {
  alignas(64) std::atomic<uint64_t> next_block = 0;
  std::atomic<uint64_t> executed = 0;  ///< Thread instructions of the blocks that have ended.
  /// Counts the bytes held by call frames. Shared, because a frame can outlive its launch.
  alignas(64) std::shared_ptr<std::atomic<uint64_t>> call_bytes =
      std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t call_bytes_max = ~uint64_t{0};
};

struct Launch {
  const LaunchInputs& inputs;
  LaunchClock clock;
  LaunchProgress progress;
  LaunchReportBuilder report;
  Memory* memory = nullptr;
  const Textures* textures = nullptr;
  GlobalRaces* races = nullptr;      ///< Null unless races of global memory are checked.
  StepObserver* observer = nullptr;  ///< Called before each step; null if nothing observes it.
  /// Device address of the grid barrier's workspace; 0 if the program has no grid barrier.
  uint64_t workspace = 0;
  /// Copies into the shared memory of another block were started.
  std::atomic<bool> copies_between_blocks = false;
  /// Held during a 16-byte atomic, because not every host has such an instruction.
  std::mutex wide_atomics;

  /// `of` must outlive the launch.
  Launch(const LaunchInputs& of, std::shared_ptr<Counters> counters)
      : inputs(of), report(std::move(counters)) {}
};

/// Returns the bytes that a block holds for its shared memory. The last ones let vectors read
/// behind its end.
inline size_t shared_room(const LaunchInputs& inputs) { return size_t{inputs.shared_bytes} + 64; }

/// Returns the offset in a block's shared memory at which the reserved part begins.
inline uint32_t reserved_shared_offset(const LaunchInputs& inputs) {
  return (inputs.own_shared_bytes + kReservedSharedAlign - 1) / kReservedSharedAlign *
         kReservedSharedAlign;
}

}  // namespace gpuemu::emulator
