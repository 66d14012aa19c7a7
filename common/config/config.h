// gpuemu.toml as typed, validated values; no other code parses TOML. Never changes after load(), so
// any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/base/result.h"
#include "common/base/retention.h"
#include "common/config/judging.h"
#include "common/config/kernel_config.h"
#include "common/config/listen.h"
#include "common/config/op_config.h"
#include "common/config/share.h"
#include "common/config/vocabulary.h"
#include "common/numeric/dtype.h"
#include "common/toml/config_problem.h"

namespace gpuemu {

/// Settings of the tape scheduler.
struct SchedulerConfig {
  uint64_t tick_ms = 0;  ///< Minimum interval between two ticks.
  std::string policy = "balanced";
  uint64_t seed = 0;
  std::string debug_dir;  ///< Folder in which clients save traces.
  uint64_t trace_entries = 100'000;
  /// Where kernels run while there is no worker: "local" or "none"; "": the daemon's default.
  std::string fallback;
};

struct Config {
  std::string file;    ///< The project file; "" if there is none.
  std::string folder;  ///< Folder of the project file, or the working folder.
  std::string name = "unnamed";
  // [runtime]
  std::string backend = "auto", arch = "auto", contraction = "auto";
  std::vector<std::string> include_dirs, compile_flags;
  uint32_t workers = 0;  ///< 0 = auto
  uint64_t case_timeout_ms = 30'000, memory_limit_mb = 4096;
  std::string python;  ///< [runtime].python: interpreter of references; "" = the project's venv,
                       ///< else python3.
  std::map<std::string, std::string> kernel_policy;
  bool selects_fastest = false;  ///< auto_select = "best_performance".
  // [validation]
  std::vector<DType> dtypes = {DType::Float32};
  bool check_nan = true, check_inf = true;
  std::optional<uint64_t> seed;
  uint64_t cases = 64;
  /// For ops that do not set it. Absent: depends on the backend.
  std::optional<uint64_t> max_elements;
  std::vector<Strategy> strategies = {Strategy::Default};
  DeviceChecks sanitize = {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::Race,
                           DeviceCheck::Sync, DeviceCheck::Schedule};
  uint32_t determinism_runs = 2;
  double reference_timeout_s = 60;
  uint64_t reference_memory_limit_mb = 0;  ///< 0 = auto: a share of the machine's memory.
  bool strict = false;        ///< Nothing beyond the bound passes, unless the op says otherwise.
  ToleranceTable tolerances;  ///< From [validation.tolerances].
  std::vector<OpConfig> ops;
  std::vector<KernelConfig> kernels;
  // [policies], [ci]
  ArtifactChecks artifact_checks;  ///< Limits for all kernels; a kernel's own take precedence.
  bool fail_on_regression = true;
  double warn_threshold = 0.1;
  std::vector<DType> ci_quick_dtypes = {DType::Float32};
  uint64_t ci_thorough_timeout_s = 3600;
  uint32_t ci_parallel_jobs = 4;
  Retention retention;        ///< [storage]
  SchedulerConfig scheduler;  ///< [scheduler]
  // --- Programs ---
  std::string socket_path, db_path, log_level = "info";
  std::optional<ListenConfig> listen;  ///< [daemon.listen]; absent: no TCP connections.
  std::optional<ShareConfig> share;    ///< [daemon.share]; absent: only for the daemon's own user.

  std::vector<ConfigProblem> warnings;
  struct Setting {
    std::string key, value,
        origin;  ///< origin: "default", "FILE:LINE", "environment GPUEMU_DB", "flag --x"
  };
  std::vector<Setting> settings;  ///< Every effective scalar, for `config show --origin`.

  const OpConfig* find_op(const std::string& op_name) const;
  const KernelConfig* find_kernel(const std::string& kernel_name) const;
  /// Returns the output's own tolerance; if there is none, that of the op's table, the kernel's,
  /// the project's, or the default of config.md (auto with a kernel, else 1e-5 / 1e-3 / exact).
  Tolerance tolerance_for(const OpConfig& op, DType dtype, const std::string& output) const;
  /// Merges limits key by key, in decreasing precedence: the kernel's for the architecture, the
  /// kernel's, the project's for the architecture, the project's, the defaults of existing tools.
  /// `kernel` is null for a kernel that is not listed.
  ArtifactLimits limits_for(const KernelConfig* kernel, const std::string& architecture) const;
};

struct ConfigSources {
  std::string working_folder;       ///< The search for gpuemu.toml starts here and goes upward.
  std::optional<std::string> file;  ///< --config
  std::map<std::string, std::string>
      environment;                           ///< The process's variables, passed in by main().
  std::map<std::string, std::string> flags;  ///< "runtime.backend" -> value
};

struct ConfigResult {
  std::optional<Config> config;         ///< Absent if there are errors.
  std::vector<ConfigProblem> problems;  ///< All errors of all files.
  std::vector<ConfigProblem> warnings;  ///< Filled in even if there are errors.
  std::string text() const;             ///< One line per problem.
};

/// Overrides max_elements of every op. InvalidArgument outside 1 to kMaxElementsMax.
Status set_max_elements(uint64_t elements, Config& config);
/// Reads and merges all sources. Without any file, returns the defaults.
ConfigResult load_config(const ConfigSources& sources);
/// Parses one project text: no other layers, and files that it names are not checked.
ConfigResult parse_config(const std::string& toml, const std::string& file);

}  // namespace gpuemu
