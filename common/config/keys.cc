// The table of keys. The help names the default; docs/reference/config.md explains each key.
#include "common/config/keys.h"

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/config/names.h"
#include "common/config/nan_policy.h"

namespace gpuemu {
namespace {

using enum KeyForm;

constexpr int64_t kDayMs = 86'400'000, kDaySeconds = 86'400, kMegabytesMax = 1 << 20;
/// An interpreter with NumPy needs about 40 MiB.
constexpr int64_t kReferenceMbMin = 64;
constexpr double kToleranceMax = 1e300;
constexpr double kAttrMax = 1e308;
/// All seconds of a day on as many slots as a daemon can have.
constexpr double kShareSecondsMax = 86'400.0 * kWorkersMax;

template <const auto& kWords>
std::span<const std::string_view> list() {
  return kWords;
}

constexpr std::string_view kBackends[] = {"auto", "cuda", "emulator"};
constexpr std::string_view kContractions[] = {"auto", "never", "always"};
constexpr std::string_view kLogLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
constexpr std::string_view kChecks[] = {
#define GPUEMU_DEVICE_CHECK(check, name) name,
#define GPUEMU_INNER_CHECK(check, name)
#include "common/base/device_checks.def"
#undef GPUEMU_DEVICE_CHECK
#undef GPUEMU_INNER_CHECK
};
constexpr std::string_view kModes[] = {"client_side", "daemon_orchestrated", "script_based",
                                       "kernel"};
constexpr std::string_view kSubnormals[] = {"keep", "ftz_ok"};
constexpr std::string_view kSelections[] = {kFirstSupported, kBestPerformance};

constexpr Key kProject[] = {
    {"name", Text, "Shown in reports."},
    {"version", RetiredText, "Has no effect: reports name the project without it."},
    {"framework", RetiredText, "Has no effect: the files of an op say what it is written in."},
};

constexpr Key kAutoSelect{.name = "auto_select",
                          .form = Word,
                          .help = "How a variant is chosen.",
                          .words = list<kSelections>};
constexpr Key kPolicy[] = {kAutoSelect};
constexpr KeySection kPolicySection{"runtime.kernel_policy", kPolicy};

constexpr Key kRuntime[] = {
    {.name = "backend",
     .form = Word,
     .help = "Where kernels run; auto is cuda where a device answers, else the emulator.",
     .words = list<kBackends>},
    {"arch", Arch, "What sources are compiled for: auto, or an architecture such as sm_80."},
    {"emulated_devices", TextOrTexts,
     "What the emulator presents, such as [\"sm_75\", \"sm_80:16384\"]; empty is one sm_80."},
    {.name = "contraction",
     .form = Word,
     .help = "Whether a product and a sum without .rn may become one fma (default auto).",
     .words = list<kContractions>},
    {"include_dirs", Paths, "Folders of headers, for CUDA sources."},
    {"compile_flags", Texts, "Passed to the compiler, such as [\"-lineinfo\"]."},
    {"workers", AutoOrInteger, "Worker processes of the emulator; auto is one per core.", 1,
     kWorkersMax},
    {"case_timeout_ms", Integer,
     "A kernel that runs longer is stopped and reported (default 30000).", 1, kDayMs},
    {"memory_limit_mb", Integer, "Device memory that one case may hold (default 4096).", 1,
     kMegabytesMax},
    {"python", Text,
     "Interpreter of references: a path, or a name in PATH; empty is the project's virtual "
     "environment, else python3."},
    kAutoSelect,
    {.name = "kernel_policy",
     .form = KernelPolicy,
     .help = "Which variant runs an op: op name = kernel name.",
     .section = &kPolicySection},
};

constexpr Key kQuota[] = {
    {.name = "weight",
     .form = Number,
     .help = "The most that a session's weight may be, and what it begins with.",
     .least = kSessionWeightMin,
     .most = kSessionWeightMax},
    {.name = "device_seconds_per_day",
     .form = Number,
     .help = "Device time from midnight to midnight (UTC).",
     .most = kShareSecondsMax},
    {"storage_bytes", Size, "Stored records of all projects, as in \"512MiB\"."},
    {"sessions_max", Integer, "Sessions at one time.", 0, int64_t{kSessionsMax}},
};
constexpr KeySection kQuotaSection{"quota", kQuota};

constexpr Key kShare[] = {
    {"group", Text, "Whose members may use the socket; the daemon's user must be one of them."},
    {"users", Texts, "Only these of the group; empty: all of it."},
    {"token_file", Path,
     "Sessions need the token in this file, which its owner alone may read: for containers, where "
     "users of the host mean nothing."},
    {.name = "quota",
     .form = UserTables,
     .help = "What a user may use, by name; without a limit where nothing is said.",
     .section = &kQuotaSection},
};
constexpr KeySection kShareSection{"daemon.share", kShare};

constexpr Key kListen[] = {
    {"address", Text, "tls+tcp://HOST:PORT; connections without TLS are not made."},
    {"ca", Path, "Certificate of the authority that signed those of the daemon and the workers."},
    {"cert", Path, "Certificate that the daemon shows."},
    {"key", Path, "Key of that certificate; its owner alone may read it."},
    {"token_file", Path, "Secret that workers show; its owner alone may read it."},
};
constexpr KeySection kListenSection{"daemon.listen", kListen};

constexpr Key kDaemon[] = {
    {"socket", Path, "Where the daemon listens (default ~/.gpuemu/gpuemu.sock)."},
    {"db", Path, "Database of results, failures and baselines (default ~/.gpuemu/db)."},
    {.name = "log_level",
     .form = Word,
     .help = "How much the daemon logs (default info).",
     .words = list<kLogLevels>},
    {.name = "listen",
     .form = Table,
     .help = "Lets workers on other machines register, over TLS.",
     .section = &kListenSection},
    {.name = "share",
     .form = Table,
     .help = "Lets other users of the machine use the daemon.",
     .section = &kShareSection},
};

constexpr Key kValidation[] = {
    {"dtypes", DTypes, "What ops without dtypes of their own are tested with."},
    {"check_nan", Boolean, "Whether NaN where none is expected is a finding (default true)."},
    {"check_inf", Boolean, "Whether infinity where none is expected is a finding (default true)."},
    {"seed", Seed, "Base seed of the cases; without it a fresh one is drawn and printed."},
    {"cases", Integer, "Cases per op and dtype of gpuemu test (default 64).", 1,
     int64_t{kIterationsMax}},
    {"max_elements", Integer, "Elements of the largest tensor of a case.", 1, kMaxElementsMax},
    {.name = "strategies",
     .form = Words,
     .help = "How inputs are made (default [\"default\"]).",
     .words = strategy_names},
    {.name = "sanitize",
     .form = Words,
     .help = "Checks of the emulator; an empty list switches all off that can be.",
     .words = list<kChecks>},
    {"determinism_runs", Integer,
     "Runs of one case that must agree bit for bit (default 2); 1 switches it off.", 1, 100},
    {.name = "reference_timeout_s",
     .form = Number,
     .help = "A reference that takes longer is stopped (default 60).",
     .least = 0.001,
     .most = 86'400},
    {"reference_memory_limit_mb", AutoOrInteger, "Private memory that a reference may hold.",
     kReferenceMbMin, kMegabytesMax},
    {"strict", Boolean, "Nothing beyond the bound of \"auto\" passes (default false)."},
    {"tolerances", Tolerances, "How far an element may be off, by dtype."},
    {"shapes", Retired, "Has no effect: write dims under [[ops]] instead."},
    {"layouts", Retired,
     "Has no effect: write layouts = [\"contiguous\", \"strided\"] under [[ops]] instead."},
};

constexpr Key kTolerance[] = {
    {.name = "atol",
     .form = Number,
     .help = "Absolute tolerance (default 0).",
     .most = kToleranceMax},
    {.name = "rtol",
     .form = Number,
     .help = "Relative tolerance: times the absolute expected value (default 0).",
     .most = kToleranceMax},
    {"ulp", Integer, "Within so many units in the last place an element passes anyway.", 0,
     INT64_MAX},
};

constexpr Key kLimits[] = {
    {"max_registers", Integer, "Registers per thread (default 64).", 0, UINT32_MAX},
    {"max_spills", Integer, "Spilled bytes per thread (default 0).", 0, UINT32_MAX},
    {"max_local_memory", Integer, "Bytes of local memory per thread (default 0).", 0, UINT32_MAX},
    {"max_local_memory_bytes", Integer, "The same as max_local_memory.", 0, UINT32_MAX},
    {"required_patterns", Texts, "RE2 patterns that the code must contain."},
    {"forbidden_patterns", Texts, "RE2 patterns that the code must not contain."},
    {"forbidden_instructions", Texts, "The same as forbidden_patterns."},
    {"max_shared_memory", Integer, "Bytes of shared memory per block.", 0, UINT32_MAX},
    {"max_instructions", Integer, "Instructions of the code.", 0, UINT32_MAX},
    {.name = "min_occupancy",
     .form = Number,
     .help = "Least part of a multiprocessor's threads that can be resident, 0 to 1.",
     .most = 1},
};
constexpr KeySection kLimitSection{"artifact_checks", kLimits};

constexpr std::string_view kChecksHelp =
    "Limits for compiled code; a table named after an architecture, such as sm_90, holds for that "
    "one.";

constexpr Key kPolicies[] = {
    {"fail_on_regression", Boolean,
     "A regression against the baseline makes a comparison fail (default true)."},
    {.name = "warn_threshold",
     .form = Number,
     .help = "Growth from which a number that is not a regression is a warning (default 0.1).",
     .most = 1e6},
    {.name = "artifact_checks", .form = Table, .help = kChecksHelp, .section = &kLimitSection},
    {"registers", Retired,
     "Has no effect: write max_registers under [policies.artifact_checks] instead."},
    {"spills", Retired,
     "Has no effect: write max_spills under [policies.artifact_checks] instead."},
    {"local_memory", Retired,
     "Has no effect: write max_local_memory under [policies.artifact_checks] instead."},
};

constexpr Key kCi[] = {
    {"quick_dtypes", DTypes, "What gpuemu ci --quick runs (default [\"float32\"])."},
    {"thorough_timeout", Integer,
     "Seconds after which gpuemu ci --thorough begins no case (default 3600).", 1, kDaySeconds * 7},
    {"parallel_jobs", Integer, "Cases, and compilers, at a time in gpuemu ci (default 4).", 0,
     kWorkersMax},
    {"quick_shapes", Retired, "Has no effect: write dims under [[ops]] instead."},
};

constexpr int64_t kDaysMax = 36'500, kRecordsMax = int64_t{1} << 40;
constexpr Key kStorage[] = {
    {"passing_days", Integer, "Passing results that are older go (default 30).", 0, kDaysMax},
    {"passing_count", Integer, "The newest passing results that stay (default 200000).", 0,
     kRecordsMax},
    {"failure_days", Integer, "Failures that are older go, with their inputs (default 0).", 0,
     kDaysMax},
    {"failure_count", Integer, "The newest failures that stay (default 20000).", 0, kRecordsMax},
    {"artifact_count", Integer, "The newest metrics that stay of each kernel (default 50).", 0,
     kRecordsMax},
    {"run_count", Integer, "The newest CI runs that stay in trends (default 200).", 0, kRecordsMax},
    {"bytes", Size,
     "All of the project, as in \"512MiB\" (default \"8GiB\"): the oldest passing results go, then "
     "inputs, then failures."},
    {"prune_minutes", Integer,
     "How often the daemon applies these limits (default 60); 0: never by itself.", 0,
     kDaysMax * 1440},
};

constexpr std::string_view kPlacements[] = {"balanced", "locality"};
constexpr std::string_view kFallbacks[] = {"local", "none"};
constexpr int64_t kTickMsMax = 60'000, kTraceEntriesMax = 10'000'000;
constexpr Key kScheduler[] = {
    {"tick_ms", Integer,
     "Time between two ticks at least, each of which is logged then (default 0): to watch a tape.",
     0, kTickMsMax},
    {.name = "policy",
     .form = Word,
     .help = "How ops are placed: balanced by time (default), or where most of their inputs are.",
     .words = list<kPlacements>},
    {"seed", Integer, "Leaves begin at device seed mod devices (default 0).", 0, INT64_MAX},
    {"debug_dir", Path, "Where clients save traces (default ~/.gpuemu/debug)."},
    {"trace_entries", Integer,
     "Lines of each layer of the trace that are kept, the newest ones (default 100000).", 1,
     kTraceEntriesMax},
    {.name = "fallback",
     .form = Word,
     .help = "Where kernels run without a worker: in the daemon (local), or they wait (none).",
     .words = list<kFallbacks>},
};

constexpr Key kTensor[] = {
    {.name = "name",
     .form = Text,
     .help = "Letters, digits and _; arguments and expressions use it.",
     .required = true},
    {"dtype", TensorDType, "\"{dtype}\", the dtype under test (default), or a fixed one."},
    {.name = "range",
     .form = Range,
     .help = "Domain of the values: [lowest, highest], numbers or expressions of dims.",
     .least = -kAttrMax,
     .most = kAttrMax},
    {"align", Integer, "Bytes that its address is a multiple of, a power of two (default 256).", 1,
     256},
};
constexpr KeySection kTensorSection{"tensor", kTensor};

constexpr std::string_view kShapeHelp =
    "Sizes as expressions of dims, such as [\"rows\", \"cols\"]; [] is a scalar.";
constexpr Key kShape = {.name = "shape", .form = Expressions, .help = kShapeHelp, .required = true};
constexpr Key kInput[] = {
    kShape,
    {"distinct", Boolean, "No value comes twice; of integers with a range (default false)."},
    {"sorted", Boolean, "The values ascend along the last axis (default false)."},
};
constexpr KeySection kInputSection{"input", kInput, &kTensorSection};
constexpr Key kInit = {"init", Value, "What each element holds before the launch, such as 0."};
constexpr Key kScratch[] = {kShape, kInit};
constexpr KeySection kScratchSection{"scratch", kScratch, &kTensorSection};
constexpr Key kOutput[] = {
    {"shape", Expressions, kShapeHelp},
    kInit,
    {"inout", Boolean, "It updates the input of the same name, whose shape and dtype it takes."},
    {"tolerance", Tolerance, "How far an element of this output may be off, in every dtype."},
    {.name = "nan_policy",
     .form = Word,
     .help = "How NaN and infinity of this output are compared (default: the op's).",
     .words = list<kNanPolicyNames>},
    {"indices_of", Text,
     "Its elements are indices along an axis of this input; those of equal elements are as right."},
    {"any_order", Boolean, "Its elements have no order along the axis (default false)."},
    {"axis", Integer, "Of indices_of and any_order (default -1, the last).", -64, 64},
};
constexpr KeySection kOutputSection{"output", kOutput, &kTensorSection};

constexpr int64_t kDimMax = int64_t{1} << 40;
constexpr Key kDim[] = {
    {"values", Sizes, "The sizes to choose from, however many.", 0, kDimMax},
    {"range", SizeRange, "All sizes from [lowest, highest].", 0, kDimMax},
    {"multiple_of", Integer, "Only multiples of this, of a range.", 1, kDimMax},
    {"power_of_two", Boolean, "Only 1, 2, 4, 8 and so on, of a range."},
};
constexpr KeySection kDimSection{"dim", kDim};

constexpr Key kAttr[] = {
    {"type", DType, "What the kernel gets (default float32)."},
    {.name = "values",
     .form = Numbers,
     .help = "The values to test.",
     .least = -kAttrMax,
     .most = kAttrMax,
     .required = true},
};
constexpr KeySection kAttrSection{"attr", kAttr};

// The keys that a kernel tested without an op shares with ops.
constexpr Key kTestData[] = {
    {"input_names", Texts, "Names of the inputs, where they are not declared."},
    {"frameworks", RetiredTexts, "Has no effect: gpuemu.check takes tensors of every framework."},
    {.name = "inputs", .form = Tables, .help = "Input tensors.", .section = &kInputSection},
    {.name = "outputs", .form = Tables, .help = "Output tensors.", .section = &kOutputSection},
    {.name = "dims",
     .form = Dims,
     .help = "Sizes: n = [1, 64] is a range, n = [1, 7, 64] a set, n = 8 one size, n = \"2 * m\" "
             "follows from others, and a table says more.",
     .section = &kDimSection},
    {"guess", Text, "Why `gpuemu init` is not sure of the launch; failures repeat it."},
    {"require", Expression, "Condition that the sizes of every case satisfy, such as \"n >= k\"."},
    {.name = "attrs",
     .form = NamedTables,
     .help = "Scalar parameters with the values to test.",
     .section = &kAttrSection},
    {"dtypes", DTypes, "Dtypes under test (default [validation].dtypes)."},
    {"accumulate", Expression, "Length of the longest sum behind one element of an output."},
    {"accumulate_dtype", DType, "What the kernel sums in."},
    {.name = "error_scale",
     .form = ErrorScale,
     .help = "How large errors may be, for all outputs or by output (default auto).",
     .words = error_scale_names},
    {"strict", Boolean, "Nothing beyond the bound of \"auto\" passes."},
    {.name = "nan_policy",
     .form = Word,
     .help = "How NaN and infinity are compared.",
     .words = list<kNanPolicyNames>},
    {.name = "subnormal",
     .form = Word,
     .help = "A subnormal number that came out as zero: keep makes it an error, ftz_ok allows it.",
     .words = list<kSubnormals>},
    {"deterministic", Boolean, "Two runs must agree bit for bit (default true)."},
    {"exact", Boolean, "Sums of small whole numbers come out exact."},
    {"max_elements", Integer, "Elements of the largest tensor of a case.", 1, kMaxElementsMax},
    {.name = "layouts",
     .form = WordOrWords,
     .help = "How tensors may lie in memory (default [\"contiguous\"]).",
     .words = layout_names},
    {"tolerances", Tolerances, "How far an element may be off, by dtype."},
    {"invariants", Invariants, "Properties and relations that outputs must have."},
};
constexpr KeySection kTestDataSection{"test data", kTestData};

constexpr Key kOp[] = {
    {.name = "name", .form = Text, .help = "Unique among the ops.", .required = true},
    {"reference", Path, "The script that computes the expected outputs."},
    {"kernel", TextOrTexts, "The kernel, or the variants, that implement the op."},
    {"module", RetiredText, "Has no effect: test a Python callable with gpuemu.check."},
    {"op_script", Path, "A script instead of a kernel."},
    {.name = "execution_mode",
     .form = Word,
     .help = "Who runs it (default kernel where one is named, else client_side; "
             "daemon_orchestrated is the same as client_side).",
     .words = list<kModes>},
    {.name = "reference_mode",
     .form = Word,
     .help = "process: a fresh process for each case (default auto).",
     .words = reference_mode_names},
};
constexpr KeySection kOpSection{"ops", kOp, &kTestDataSection};

constexpr Key kLaunch[] = {
    {.name = "entry",
     .form = Text,
     .help = "The kernel's name in its source, such as \"softmax<{ctype}>\".",
     .required = true},
    {.name = "grid", .form = Extent, .help = "Blocks.", .required = true},
    {.name = "block", .form = Extent, .help = "Threads of a block.", .required = true},
    {"cluster", Extent, "Blocks of a cluster (default what the kernel declares)."},
    {"shared", Expression, "Bytes of dynamic shared memory (default 0)."},
    {"args", Arguments,
     "Parameters in order: names of tensors, i32:, u32:, i64:, u64:, f32:, f64:, bool:, i8:, u8:, "
     "i16:, u16:, f16: or bf16: with an expression, ptr:null, a list of these for a structure."},
};
constexpr KeySection kLaunchSection{"launch", kLaunch};

constexpr Key kKernel[] = {
    {.name = "name", .form = Text, .help = "Unique among the kernels.", .required = true},
    {.name = "source",
     .form = Source,
     .help = "A .cu or .ptx file, or builtin:NAME. `gpuemu lint` reads .fatbin and .cubin too.",
     .words = builtin_kernel_names},
    {"reference", Path, "The script that computes the expected outputs."},
    {"priority", Integer, "Among variants that support a case the highest runs (default 0).",
     INT32_MIN, INT32_MAX},
    {"supports", Expression, "When this variant may be chosen, such as \"cols <= 4096\"."},
    {.name = "scratch",
     .form = Tables,
     .help = "Device memory that the kernel needs besides.",
     .section = &kScratchSection},
    {.name = "launches",
     .form = Tables,
     .help = "One or several, in order.",
     .section = &kLaunchSection},
    {"symbols", Symbols,
     "__constant__ and __device__ variables that the host sets: weights = \"w\" (an input) or "
     "scale = \"f32:0.5\"."},
    {.name = "artifact_checks", .form = Table, .help = kChecksHelp, .section = &kLimitSection},
    {"build", Retired, "Has no effect: write arch and compile_flags under [runtime] instead."},
};
constexpr KeySection kKernelSection{"kernels", kKernel, &kTestDataSection};

constexpr KeySection kProjectSection{"project", kProject}, kRuntimeSection{"runtime", kRuntime},
    kDaemonSection{"daemon", kDaemon}, kValidationSection{"validation", kValidation},
    kPoliciesSection{"policies", kPolicies}, kCiSection{"ci", kCi},
    kStorageSection{"storage", kStorage}, kSchedulerSection{"scheduler", kScheduler},
    kToleranceSection{"tolerance", kTolerance};

constexpr Key kFile[] = {
    {.name = "project", .form = Table, .help = "Names.", .section = &kProjectSection},
    {.name = "runtime",
     .form = Table,
     .help = "Where and how kernels run.",
     .section = &kRuntimeSection},
    {.name = "daemon", .form = Table, .help = "Socket and database.", .section = &kDaemonSection},
    {.name = "validation",
     .form = Table,
     .help = "What is tested, and how, of all ops.",
     .section = &kValidationSection},
    {.name = "policies", .form = Table, .help = "Kernels' limits.", .section = &kPoliciesSection},
    {.name = "ci", .form = Table, .help = "What gpuemu ci goes by.", .section = &kCiSection},
    {.name = "storage",
     .form = Table,
     .help = "How much of the project is kept; 0 sets no limit.",
     .section = &kStorageSection},
    {.name = "scheduler",
     .form = Table,
     .help = "How the daemon schedules tapes; read when it starts.",
     .section = &kSchedulerSection},
    {.name = "ops", .form = Tables, .help = "What is tested.", .section = &kOpSection},
    {.name = "kernels",
     .form = Tables,
     .help = "Kernels; with launches and outputs tested without an op.",
     .section = &kKernelSection},
};
constexpr KeySection kFileSection{"file", kFile};

}  // namespace

const KeySection& file_keys() { return kFileSection; }
const KeySection& project_keys() { return kProjectSection; }
const KeySection& runtime_keys() { return kRuntimeSection; }
const KeySection& kernel_policy_keys() { return kPolicySection; }
const KeySection& daemon_keys() { return kDaemonSection; }
const KeySection& listen_keys() { return kListenSection; }
const KeySection& share_keys() { return kShareSection; }
const KeySection& quota_keys() { return kQuotaSection; }
const KeySection& validation_keys() { return kValidationSection; }
const KeySection& policies_keys() { return kPoliciesSection; }
const KeySection& ci_keys() { return kCiSection; }
const KeySection& storage_keys() { return kStorageSection; }
const KeySection& scheduler_keys() { return kSchedulerSection; }
const KeySection& op_keys() { return kOpSection; }
const KeySection& kernel_keys() { return kKernelSection; }
const KeySection& input_keys() { return kInputSection; }
const KeySection& scratch_keys() { return kScratchSection; }
const KeySection& output_keys() { return kOutputSection; }
const KeySection& attr_keys() { return kAttrSection; }
const KeySection& dim_keys() { return kDimSection; }
const KeySection& launch_keys() { return kLaunchSection; }
const KeySection& artifact_limit_keys() { return kLimitSection; }
const KeySection& tolerance_keys() { return kToleranceSection; }

}  // namespace gpuemu
