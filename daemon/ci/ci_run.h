// One run of continuous integration: replays stored failures and the corpus, generates cases for
// every op, and checks kernels against their limits and against a baseline, all in parallel.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/ci.gen.h"
#include "common/protocol/replies.gen.h"
#include "common/protocol/requests.gen.h"
#include "daemon/campaign/campaign.h"
#include "daemon/measure/measure_kernels.h"
#include "daemon/storage/store.h"

namespace gpuemu {

struct CiOptions {
  CiProfile profile = CiProfile::Default;
  uint64_t cases = 64;        ///< Per op and dtype.
  std::vector<DType> dtypes;  ///< Where an op has them; empty: each op's own.
  uint64_t seed = 0;
  /// Used up completely while cases find new things; 0: none.
  std::chrono::milliseconds budget{0};
  std::chrono::milliseconds limit{0};  ///< No case begins later; 0: none.
  uint64_t shard = 0, shards = 0;
  uint32_t threads_max = 0;
  bool cached = false, coverage = false;
  LaneClaim claim;
  std::string baseline_name;  ///< "": none
  std::vector<ArtifactMetrics> baseline_artifacts;
  std::vector<ValidationResult> baseline_results;
};

/// The parts of the daemon that a run works with; all outlive it.
struct CiMachine {
  const Config& config;
  Campaign& campaign;
  Store& store;
  const InspectOptions& inspect;
  std::string identity;  ///< Version, backend and device.
};

/// The cases to run for an op whose output an op script makes.
struct CiScriptCases {
  const OpConfig& op;
  uint64_t cases = 0;
  std::vector<DType> dtypes;                                      ///< Empty: the generator's own.
  std::optional<std::chrono::steady_clock::time_point> deadline;  ///< No case begins later.
  /// Gets each case that counts, with the ratio of its largest error to the bound.
  std::function<void(const ValidationResult&, double bound_ratio_max)> on_case;
};

/// Callbacks of a run. May be called by several threads.
struct CiEvents {
  std::function<void(uint64_t)> more;  ///< Adds to the number of cases to run.
  std::function<void()> step;          ///< One of them is done.
  std::function<void(const ValidationResult&)> failed;
  std::function<void(const OpConfig& op, DType dtype)> op_started;  ///< By any thread.
  std::function<void(const std::string&)> warn;
  std::function<void(size_t ready, size_t wanted)> compiling;  ///< Kernels, before anything else.
  /// Runs the cases and stores their results itself; ends between cases when the run is cancelled.
  std::function<Result<FuzzResultsReply>(const CiScriptCases&)> run_script_op;
};

/// Runs everything. Ops and kernels that cannot be run or measured are recorded in the summary
/// (CiRunSummary::is_broken); an error means that nothing could be done at all. `cancel` ends the
/// run between cases; what was found until then is reported.
Result<CiRunSummary> run_ci(const CiMachine& machine, const CiOptions& options,
                            const CiEvents& events, const std::atomic<bool>& cancel);

}  // namespace gpuemu
