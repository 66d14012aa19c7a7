// Mutation testing of a project's own configuration: its cases run on kernels with one mistake
// planted each. What survives is run on every other kind of input there is.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

struct MutationOptions {
  std::string kernel;  ///< A variant of the op; "": the one that runs.
  std::optional<DType> dtype;
  uint64_t cases = 0;        ///< Per mutant; 0: the configuration's.
  uint64_t seed = 0;         ///< Decides the cases, and which mutants are chosen.
  uint64_t mutants_max = 0;  ///< 0: all.
  std::vector<std::string> mutations;
  /// No mutant begins later.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  LaneClaim claim;
};

struct MutationEvents {
  std::function<void(uint64_t total)> on_total;
  /// By any thread, one at a time.
  std::function<void(const MutantReport& mutant)> on_mutant;
};

/// All outlive the run.
struct MutationMachinery {
  const Config& config;
  KernelStore& kernels;
  SlotPool& slots;
};

/// InvalidArgument when the kernel itself fails one of the cases: mutants of it prove nothing.
/// Verdicts follow from the options alone unless the deadline or `cancel` comes.
Result<MutationReportReply> run_mutation(MutationMachinery machinery, const OpConfig& op,
                                         const MutationOptions& options,
                                         const MutationEvents& events,
                                         const std::atomic<bool>& cancel);

}  // namespace gpuemu
