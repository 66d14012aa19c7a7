// Mutation testing of a project's own configuration: runs its cases on kernels with one planted
// mistake each. Mutants that survive are run on every other kind of input that exists.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/replies.gen.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

struct MutationOptions {
  std::string kernel;  ///< A variant of the op; "": the one that usually runs.
  std::optional<DType> dtype;
  uint64_t cases = 0;        ///< Per mutant; 0: as in the configuration.
  uint64_t seed = 0;         ///< Determines the cases, and which mutants are chosen.
  uint64_t mutants_max = 0;  ///< 0: all.
  std::vector<std::string> mutations;
  /// No mutant begins after this time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  LaneClaim claim;
};

struct MutationEvents {
  std::function<void(uint64_t total)> on_total;
  /// May be called by any thread, by one at a time.
  std::function<void(const MutantReport& mutant)> on_mutant;
};

/// All outlive the run.
struct MutationMachinery {
  const Config& config;
  KernelStore& kernels;
  SlotPool& slots;
};

/// InvalidArgument if the kernel itself fails one of the cases, because its mutants then prove
/// nothing. Verdicts depend only on the options, unless the deadline or `cancel` ends the run.
Result<MutationReportReply> run_mutation(MutationMachinery machinery, const OpConfig& op,
                                         const MutationOptions& options,
                                         const MutationEvents& events,
                                         const std::atomic<bool>& cancel);

}  // namespace gpuemu
