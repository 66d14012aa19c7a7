// gpuemu.toml as typed, validated values. Nobody else parses TOML. Values only; after load() it is
// never changed, so any thread may read it.
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
  std::optional<uint64_t> ulp;  ///< Within it an element passes whatever atol and rtol say.
};
using ToleranceTable = std::map<DType, Tolerance>;

enum class NanPolicy { Match, Class, Any };

/// Judges zeros where the reference is below the smallest normal number of the type.
enum class SubnormalPolicy {
  Note,   ///< Flushing to zero that explains a case exactly is a note.
  Keep,   ///< A flushed number is an error like any other.
  FtzOk,  ///< The bound allows for it, sum by sum.
};

/// What each element of an output, or of scratch memory, holds before the launch.
struct InitialValue {
  std::optional<double> real;  ///< Written with a fraction, as infinity or as NaN.
  Expression value;            ///< Else.
};

struct TensorSpec {
  std::string name;
  std::vector<Expression> shape;
  std::string dtype;  ///< "{dtype}" or a dtype name.
  /// Domain of the values. Where an end follows from sizes, the widest that any case has; a case's
  /// own is what declared_range() says.
  std::optional<std::pair<double, double>> range;
  std::optional<Expression> range_low, range_high;  ///< Ends that follow from sizes.
  bool distinct = false;                            ///< No value of an input comes twice.
  bool sorted = false;                  ///< An input's values ascend along the last axis.
  bool inout = false;                   ///< The output updates the input of the same name.
  std::optional<InitialValue> init;     ///< Absent: nothing that a kernel may read.
  std::optional<Tolerance> tolerance;   ///< An output's tolerance, for every dtype.
  std::optional<NanPolicy> nan_policy;  ///< An output's policy; absent: the op's.
  /// Several right answers of an output: its elements index this input along the axis, or have no
  /// order along it.
  std::string indices_of;
  bool any_order = false;
  int64_t axis = -1;
  uint32_t align = 256;  ///< Bytes; less makes fuzzing try offset bases.
  /// Each launch that gets the address gets these strides too, so that other layouts are legal.
  bool outer_strides_passed = false;  ///< Strides of all axes but the last; rank 2 or more.
  bool all_strides_passed = false;
};

struct DimSpec {
  std::string name;
  bool is_set = false;  ///< Choose one of `values`; else they are [lo, hi].
  std::vector<int64_t> values;
};

/// A dim that follows from others: n = "2 * m".
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
  std::string reference;  ///< Absolute path; relative ones start at the file's folder. "": none.
  std::string reference_function;  ///< "softmax" of "ref.py:softmax"; "": reference().
  /// What was `reference` before somebody found that it is not written yet; see
  /// daemon/server/stub_reference.h.
  std::string stub_reference;
  std::vector<std::string> kernels;  ///< Variants.
  std::string op_script;
  ExecutionMode mode = ExecutionMode::ClientSide;
  ReferenceMode reference_mode = ReferenceMode::Auto;
  std::vector<std::string> input_names;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<AttrSpec> attrs;
  std::vector<DimSpec> dims;             ///< Those that a case chooses.
  std::vector<DerivedDim> derived_dims;  ///< Those that follow, each behind what it needs.
  std::optional<Expression> require;     ///< Cases only have sizes for which it holds.
  std::vector<DType> dtypes;             ///< Never empty: the op's or [validation].dtypes.
  std::optional<Expression> accumulate;
  std::optional<DType> accumulate_dtype;
  ErrorScale error_scale = ErrorScale::Auto;
  std::map<std::string, ErrorScale> error_scales;  ///< By output, where it names any.
  ErrorScale error_scale_of(const std::string& output) const {
    const auto found = error_scales.find(output);
    return found == error_scales.end() ? error_scale : found->second;
  }
  std::optional<bool> strict;  ///< Absent: Config::strict.
  NanPolicy nan_policy = NanPolicy::Match;
  bool has_nan_policy = false;    ///< False for ops of existing clients.
  bool nan_policy_given = false;  ///< Written in gpuemu.toml; else a default.
  /// The policy of an output, and whether gpuemu.toml sets it for the output or the op.
  NanPolicy nan_policy_of(const std::string& output) const;
  bool is_nan_policy_given(const std::string& output) const;
  SubnormalPolicy subnormal = SubnormalPolicy::Note;
  bool deterministic = true;
  /// Whether sums of small whole numbers come out exact, so that they are compared without a
  /// tolerance. Absent: with error_scale matmul, dot or sum.
  std::optional<bool> exact;
  /// Elements of the largest tensor of any case. Absent: Config::max_elements.
  std::optional<uint64_t> max_elements;
  /// Never empty. A tensor whose strides the kernel does not get stays contiguous.
  std::vector<MemoryLayout> layouts;
  bool layouts_given = false;
  ToleranceTable tolerances;                  ///< The op's own; see Config::tolerance_for.
  std::vector<InvariantSpec> invariants;      ///< Relations too; see is_relation().
  std::vector<InvariantKind> invariants_off;  ///< Written as `false`: not even inferred.
  std::string file;                           ///< Where it is declared.
  uint32_t line = 0, column = 0, end_line = 0;
};

struct LaunchSpec {
  std::string entry;  ///< With {ctype} and {dtype} not yet replaced.
  std::vector<Expression> grid, block;
  std::vector<Expression> cluster;  ///< Empty: what the kernel declares.
  std::optional<Expression> shared;
  struct Arg {
    enum class Kind { Tensor, Number, NullPointer, Struct } kind = Kind::Tensor;
    std::string tensor;               ///< Kind::Tensor: input, output or scratch name.
    DType dtype = DType::Int32;       ///< Kind::Number: how it is passed.
    std::optional<Expression> value;  ///< Kind::Number; Kind::Tensor: elements behind its first.
    std::vector<Arg> members;         ///< Kind::Struct: numbers, null pointers, structures.
    std::string text;                 ///< As written, for messages.
  };
  std::vector<Arg> args;
};

/// A __constant__ or __device__ variable that the host sets before the kernel runs.
struct SymbolSpec {
  std::string name;       ///< As the source has it: "weights", "model::weights".
  LaunchSpec::Arg value;  ///< An input, whose elements it gets, or numbers.
};

/// Limits for compiled code; what is absent is not checked. See Config::limits_for.
struct ArtifactLimits {
  std::optional<uint32_t> max_registers, max_spills, max_local_memory, max_shared_memory,
      max_instructions;
  std::optional<double> min_occupancy;
  std::optional<std::vector<std::string>> required_patterns, forbidden_patterns;
};
inline constexpr uint32_t kDefaultMaxRegisters = 64;

struct ArtifactChecks {
  ArtifactLimits limits;
  std::map<std::string, ArtifactLimits> archs;  ///< "sm_90": instead of `limits` there, key by key.
};

struct KernelConfig {
  std::string name;
  std::string source;  ///< Absolute path, or "builtin:NAME"; "" when none.
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

/// How tapes are scheduled.
struct SchedulerConfig {
  uint64_t tick_ms = 0;  ///< Between two ticks at least.
  std::string policy = "balanced";
  uint64_t seed = 0;
  std::string debug_dir;  ///< Where clients save traces.
  uint64_t trace_entries = 100'000;
  /// Where kernels run while there is no worker: "local" or "none"; "": the daemon's default.
  std::string fallback;
};

struct Config {
  std::string file;    ///< The project file; "" when there is none.
  std::string folder;  ///< Folder of the project file, else the working folder.
  std::string name = "unnamed";
  // [runtime]
  std::string backend = "auto", arch = "auto", contraction = "auto";
  std::vector<std::string> include_dirs, compile_flags;
  uint32_t workers = 0;  ///< 0 = auto
  uint64_t case_timeout_ms = 30'000, memory_limit_mb = 4096;
  std::string python;  ///< [runtime].python: interpreter of references; "" = the project's venv,
                       ///< else python3.
  std::map<std::string, std::string> kernel_policy;
  // [validation]
  std::vector<DType> dtypes = {DType::Float32};
  bool check_nan = true, check_inf = true;
  std::optional<uint64_t> seed;
  uint64_t cases = 64;
  std::optional<uint64_t> max_elements;  ///< For ops that name none. Absent: by the backend.
  std::vector<Strategy> strategies = {Strategy::Default};
  DeviceChecks sanitize = {DeviceCheck::Memory, DeviceCheck::Init, DeviceCheck::Race,
                           DeviceCheck::Sync, DeviceCheck::Schedule};
  uint32_t determinism_runs = 2;
  double reference_timeout_s = 60;
  uint64_t reference_memory_limit_mb = 0;  ///< 0 = auto: a share of the machine's memory.
  bool strict = false;  ///< Nothing beyond the bound passes, of ops that do not say otherwise.
  ToleranceTable tolerances;  ///< From [validation.tolerances] alone.
  std::vector<OpConfig> ops;
  std::vector<KernelConfig> kernels;
  // [policies], [ci]
  ArtifactChecks artifact_checks;  ///< Limits of all kernels, below their own.
  bool fail_on_regression = true;
  double warn_threshold = 0.1;
  std::vector<DType> ci_quick_dtypes = {DType::Float32};
  uint64_t ci_thorough_timeout_s = 3600;
  uint32_t ci_parallel_jobs = 4;
  Retention retention;        ///< [storage]
  SchedulerConfig scheduler;  ///< [scheduler]
  // Programs
  std::string socket_path, db_path, log_level = "info";
  std::optional<ListenConfig> listen;  ///< [daemon.listen]; absent: nothing listens on TCP.
  std::optional<ShareConfig> share;    ///< [daemon.share]; absent: for its own user alone.

  std::vector<ConfigProblem> warnings;
  struct Setting {
    std::string key, value,
        origin;  ///< origin: "default", "FILE:LINE", "environment GPUEMU_DB", "flag --x"
  };
  std::vector<Setting> settings;  ///< Every effective scalar value, for `config show --origin`.

  const OpConfig* find_op(const std::string& op_name) const;
  const KernelConfig* find_kernel(const std::string& kernel_name) const;
  /// The output's own tolerance; without one the op's table, then the kernel's, the project's, and
  /// the default of config.md (auto with a kernel, else 1e-5 / 1e-3 / exact).
  Tolerance tolerance_for(const OpConfig& op, DType dtype, const std::string& output) const;
  /// Key by key: the kernel's for the architecture over the kernel's over the project's for it over
  /// the project's over the defaults of existing tools. `kernel` null: of a kernel that is not
  /// listed.
  ArtifactLimits limits_for(const KernelConfig* kernel, const std::string& architecture) const;
};

struct ConfigSources {
  std::string working_folder;       ///< Where the upward search for gpuemu.toml starts.
  std::optional<std::string> file;  ///< --config
  std::map<std::string, std::string> environment;  ///< The process's, passed in by main.
  std::map<std::string, std::string> flags;        ///< "runtime.backend" -> value
};

struct ConfigResult {
  std::optional<Config> config;         ///< Absent when there are errors.
  std::vector<ConfigProblem> problems;  ///< All errors of all files in one go.
  std::vector<ConfigProblem> warnings;  ///< Filled where there are errors too.
  std::string text() const;             ///< One line per problem.
};

/// Adds what follows from the dims and attrs that the scope holds. InvalidArgument naming the dim
/// if it has no value or is negative, or naming `require` if it does not hold for these sizes.
Status add_derived_dims(const OpConfig& op, Scope& scope);

/// Overrides max_elements of every op. InvalidArgument outside of 1 to kMaxElementsMax.
Status set_max_elements(uint64_t elements, Config& config);
/// Sets the policy that an op of a kernel has where none was written.
void set_default_nan_policy(OpConfig& op);

/// Reads and merges everything. Without any file: the defaults.
ConfigResult load_config(const ConfigSources& sources);
/// One project text alone: no layers, and files that it names are not looked for.
ConfigResult parse_config(const std::string& toml, const std::string& file);

}  // namespace gpuemu
