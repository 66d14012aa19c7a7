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
#include "common/config/expression.h"
#include "common/config/listen.h"
#include "common/config/share.h"
#include "common/config/vocabulary.h"
#include "common/numeric/dtype.h"
#include "common/toml/config_problem.h"

namespace gpuemu {

struct Tolerance {
  bool automatic = false;  ///< The scale-aware bound of docs/internals/validation.md.
  double atol = 0, rtol = 0;
  std::optional<uint64_t> ulp;  ///< An element within it passes, whatever atol and rtol are.
};
using ToleranceTable = std::map<DType, Tolerance>;

enum class NanPolicy { Match, Class, Any };

/// How zeros are judged where the reference is subnormal in the output's type.
enum class SubnormalPolicy {
  Note,   ///< Flushing to zero that fully explains a case is a note.
  Keep,   ///< A flushed number is judged like any other error.
  FtzOk,  ///< The bound allows for flushing, sum by sum.
};

/// The value of each element of an output, or of scratch memory, before the launch.
struct InitialValue {
  std::optional<double> real;  ///< Set if written with a fraction, as infinity or as NaN.
  Expression value;            ///< Set otherwise.
};

struct TensorSpec {
  std::string name;
  std::vector<Expression> shape;
  std::string dtype;  ///< "{dtype}" or a dtype name.
  /// The interval of values. If an end depends on sizes, the widest of any case; declared_range()
  /// gives the interval of one case.
  std::optional<std::pair<double, double>> range;
  std::optional<Expression> range_low, range_high;  ///< Ends that depend on sizes.
  bool distinct = false;                            ///< The values of an input are distinct.
  bool sorted = false;                  ///< An input's values ascend along the last axis.
  bool inout = false;                   ///< The output updates the input of the same name.
  std::optional<InitialValue> init;     ///< Absent: a kernel must not read it.
  std::optional<Tolerance> tolerance;   ///< An output's tolerance for every dtype.
  std::optional<NanPolicy> nan_policy;  ///< An output's policy; absent: the op's.
  /// For an output with several right answers: its elements index this input along the axis, or
  /// have no order along it.
  std::string indices_of;
  bool any_order = false;
  int64_t axis = -1;
  uint32_t align = 256;  ///< In bytes; a smaller value makes fuzzing use offset base addresses.
  /// Each launch that receives the address also receives these strides, so other layouts are
  /// allowed.
  bool outer_strides_passed = false;  ///< Strides of all axes but the last; rank 2 or more.
  bool all_strides_passed = false;
};

struct DimSpec {
  std::string name;
  bool is_set = false;  ///< One of `values`; otherwise `values` is [lo, hi].
  std::vector<int64_t> values;
};

/// A dim computed from others, as in n = "2 * m".
struct DerivedDim {
  std::string name;
  Expression value;
};

struct AttrSpec {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<double> values;  ///< At least one.
};

/// A named invariant or relation with its parameters, as written: sums_to_one = { axis = -1 }.
struct InvariantSpec {
  InvariantKind kind = InvariantKind::NonNegative;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> strings;
};

enum class ExecutionMode { ClientSide, ScriptBased, Kernel };

struct OpConfig {
  std::string name;
  std::string reference;  ///< Absolute path; "": none. Relative paths start at the file's folder.
  std::string reference_function;  ///< "softmax" of "ref.py:softmax"; "": reference().
  /// The path of `reference` if its function is still an unwritten stub; `reference` is then "".
  /// See common/config/stub_reference.h.
  std::string stub_reference;
  std::string guess;  ///< Why its sizes, arguments or launches may be wrong; "": they are not.
  std::vector<std::string> kernels;  ///< Variants.
  std::string op_script;
  ExecutionMode mode = ExecutionMode::ClientSide;
  ReferenceMode reference_mode = ReferenceMode::Auto;
  std::vector<std::string> input_names;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<AttrSpec> attrs;
  std::vector<DimSpec> dims;             ///< Dims that a case chooses.
  std::vector<DerivedDim> derived_dims;  ///< Computed dims, each after those that it needs.
  std::optional<Expression> require;     ///< Cases only have sizes that satisfy it.
  std::vector<DType> dtypes;             ///< Never empty: the op's or [validation].dtypes.
  std::optional<Expression> accumulate;
  std::optional<DType> accumulate_dtype;
  ErrorScale error_scale = ErrorScale::Auto;
  std::map<std::string, ErrorScale> error_scales;  ///< By output, if any are set.
  ErrorScale error_scale_of(const std::string& output) const {
    const auto found = error_scales.find(output);
    return found == error_scales.end() ? error_scale : found->second;
  }
  std::optional<bool> strict;  ///< Absent: Config::strict.
  NanPolicy nan_policy = NanPolicy::Match;
  bool has_nan_policy = false;    ///< False for ops of existing clients.
  bool nan_policy_given = false;  ///< Set in gpuemu.toml rather than by default.
  /// The policy of an output, and whether gpuemu.toml sets it for the output or the op.
  NanPolicy nan_policy_of(const std::string& output) const;
  bool is_nan_policy_given(const std::string& output) const;
  SubnormalPolicy subnormal = SubnormalPolicy::Note;
  bool deterministic = true;
  /// Whether sums of small whole numbers are exact, so that they are compared without a tolerance.
  /// Absent: exact if error_scale is matmul, dot or sum.
  std::optional<bool> exact;
  /// Elements of the largest tensor of a case. Absent: Config::max_elements.
  std::optional<uint64_t> max_elements;
  /// Never empty. A tensor whose strides the kernel does not receive stays contiguous.
  std::vector<MemoryLayout> layouts;
  bool layouts_given = false;
  ToleranceTable tolerances;                  ///< The op's own; see Config::tolerance_for.
  std::vector<InvariantSpec> invariants;      ///< Relations too; see is_relation().
  std::vector<InvariantKind> invariants_off;  ///< Set to `false`: not inferred either.
  std::string file;                           ///< The file that declares it.
  uint32_t line = 0, column = 0, end_line = 0;
};

struct LaunchSpec {
  std::string entry;  ///< Before {ctype} and {dtype} are replaced.
  std::vector<Expression> grid, block;
  std::vector<Expression> cluster;  ///< Empty: the kernel's declaration.
  std::optional<Expression> shared;
  struct Arg {
    enum class Kind { Tensor, Number, NullPointer, Struct } kind = Kind::Tensor;
    std::string tensor;               ///< Kind::Tensor: input, output or scratch name.
    DType dtype = DType::Int32;       ///< Kind::Number: the type in which it is passed.
    std::optional<Expression> value;  ///< Kind::Number; for Kind::Tensor, the offset in elements.
    std::vector<Arg> members;         ///< Kind::Struct: numbers, null pointers, structures.
    std::string text;                 ///< As written, for messages.
  };
  std::vector<Arg> args;
};

/// A __constant__ or __device__ variable that the host sets before the launch.
struct SymbolSpec {
  std::string name;       ///< Name in the source: "weights", "model::weights".
  LaunchSpec::Arg value;  ///< An input that provides the elements, or numbers.
};

/// Limits for compiled code; absent ones are not checked. See Config::limits_for().
struct ArtifactLimits {
  std::optional<uint32_t> max_registers, max_spills, max_local_memory, max_shared_memory,
      max_instructions;
  std::optional<double> min_occupancy;
  std::optional<std::vector<std::string>> required_patterns, forbidden_patterns;
};
inline constexpr uint32_t kDefaultMaxRegisters = 64;

struct ArtifactChecks {
  ArtifactLimits limits;
  /// By architecture, such as "sm_90"; each set key replaces that of `limits`.
  std::map<std::string, ArtifactLimits> archs;
};

struct KernelConfig {
  std::string name;
  std::string source;  ///< Absolute path, or "builtin:NAME"; "" if there is none.
  std::string reference, reference_function;
  int64_t priority = 0;
  std::optional<Expression> supports;
  std::vector<TensorSpec> scratch;
  std::vector<LaunchSpec> launches;
  std::vector<SymbolSpec> symbols;
  ToleranceTable tolerances;
  std::vector<InvariantSpec> invariants;
  ArtifactChecks artifact_checks;
  std::string file;
  uint32_t line = 0, column = 0, end_line = 0;
};

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

/// Adds the dims computed from the dims and attrs in the scope. InvalidArgument names a dim that
/// has no value or is negative, or `require` if these sizes violate it.
Status add_derived_dims(const OpConfig& op, Scope& scope);

/// Overrides max_elements of every op. InvalidArgument outside 1 to kMaxElementsMax.
Status set_max_elements(uint64_t elements, Config& config);
/// Sets the default policy of an op with a kernel, if none is set.
void set_default_nan_policy(OpConfig& op);

/// Reads and merges all sources. Without any file, returns the defaults.
ConfigResult load_config(const ConfigSources& sources);
/// Parses one project text: no other layers, and files that it names are not checked.
ConfigResult parse_config(const std::string& toml, const std::string& file);

}  // namespace gpuemu
