// One run of continuous integration: stored failures and corpus again, generated cases of every op,
// kernels against their limits and against a baseline, all side by side.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/ci.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/campaign/campaign.h"
#include "daemon/measure/measure_kernels.h"
#include "daemon/storage/store.h"

namespace gpuemu {

struct CiOptions {
  CiProfile profile = CiProfile::Default;
  uint64_t cases = 64;        ///< Per op and dtype.
  std::vector<DType> dtypes;  ///< Where an op has them; empty: each op's own.
  uint64_t seed = 0;
  std::chrono::milliseconds budget{0};  ///< Spent to its end where cases find new things; 0: none.
  std::chrono::milliseconds limit{0};   ///< No case begins later; 0: none.
  uint64_t shard = 0, shards = 0;
  uint32_t threads_max = 0;
  bool cached = false, coverage = false;
  LaneClaim claim;
  std::string baseline_name;  ///< "": none
  std::vector<ArtifactMetrics> baseline_artifacts;
  std::vector<ValidationResult> baseline_results;
};

/// What a run works with; all outlive it.
struct CiMachine {
  const Config& config;
  Campaign& campaign;
  Store& store;
  const InspectOptions& inspect;
  std::string identity;  ///< Version, backend and device.
};

/// What is to be run of an op whose output an op script makes.
struct CiScriptCases {
  const OpConfig& op;
  uint64_t cases = 0;
  std::vector<DType> dtypes;                                      ///< Empty: the generator's own.
  std::optional<std::chrono::steady_clock::time_point> deadline;  ///< No case begins later.
  /// Each case that counts, with its largest error over its allowed bound.
  std::function<void(const ValidationResult&, double bound_ratio_max)> on_case;
};

/// Called by several threads.
struct CiEvents {
  std::function<void(uint64_t)> more;  ///< So many cases more to run.
  std::function<void()> step;          ///< One of them is done.
  std::function<void(const ValidationResult&)> failed;
  std::function<void(const OpConfig& op, DType dtype)> op_started;  ///< By any thread.
  std::function<void(const std::string&)> warn;
  std::function<void(size_t ready, size_t wanted)> compiling;  ///< Kernels, before anything else.
  /// Keeps its results itself, and ends between cases when the run is cancelled.
  std::function<Result<FuzzResultsReply>(const CiScriptCases&)> run_script_op;
};

/// What cannot be run or measured stands in the summary (CiRunSummary::is_broken); an error means
/// that nothing could be done. `cancel` ends it between cases; what was found is reported.
Result<CiRunSummary> run_ci(const CiMachine& machine, const CiOptions& options,
                            const CiEvents& events, const std::atomic<bool>& cancel);

}  // namespace gpuemu
