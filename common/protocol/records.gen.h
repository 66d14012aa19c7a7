// The records that several messages share, as C++ values. Names are the wire's.
// Written by tools/make_protocol.py from records.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// A value as the kernel computed it and as it would be without any rounding.
struct ExplainedValue {
  std::string name;  ///< "%f12"; "" where it has none.
  double computed = 0;
  double exact = 0;
  double bound = 0;
  bool operator==(const ExplainedValue&) const = default;
};

/// What an instruction does to the error of a value.
enum class StepKind {
  Compute,
  Load,  ///< Reads memory that the kernel did not write itself.
  Store,
  Cancels,  ///< Subtracts nearly equal values: their errors remain.
  Absorbs,  ///< Adds to a value so large that most of the addend is rounded away.
  Overflows,  ///< Finite operands, a result that is not.
  Coarse,  ///< Rounds to a format that holds less than its operands.
  Amplifies,  ///< Another instruction with a result much less exact than its operands.
  Grows,  ///< Many small roundings; none stands out.
};
inline constexpr StepKind kLastStepKind = StepKind::Grows;
/// The name on the wire, and back.
const char* name_of(StepKind value);
std::optional<StepKind> step_kind_from_name(const std::string& name);

/// Where an error comes from.
enum class ExplainVerdict {
  Passes,  ///< No value is wrong.
  Logic,  ///< Exact arithmetic gives the wrong value too: the formula is another one.
  Numerical,  ///< The formula is right; its arithmetic loses the value.
  Rounding,  ///< The value is as exact as its type allows.
  Unknown,  ///< Formula and arithmetic cannot be told apart.
  Skipped,  ///< It was not explained; only in a Diagnosis.
};
inline constexpr ExplainVerdict kLastExplainVerdict = ExplainVerdict::Skipped;
/// The name on the wire, and back.
const char* name_of(ExplainVerdict value);
std::optional<ExplainVerdict> explain_verdict_from_name(const std::string& name);

/// One instruction that the value went through.
struct ExplainedStep {
  StepKind kind = StepKind::Compute;
  std::string instruction;
  std::string file;
  uint32_t line = 0;
  uint32_t ptx_line = 0;
  std::vector<uint64_t> block;
  std::vector<uint64_t> thread;
  uint64_t visit = 0;  ///< How often the thread had come there.
  uint64_t count = 0;  ///< Values that the instruction gave to the element.
  ExplainedValue result;
  std::vector<ExplainedValue> operands;
  bool operator==(const ExplainedStep&) const = default;
};

/// One output of the case, all elements.
struct ExplainedOutput {
  std::string name;
  uint64_t elements = 0;
  uint64_t wrong = 0;
  uint64_t logic = 0;
  uint64_t numerical = 0;
  uint64_t rounding = 0;
  bool operator==(const ExplainedOutput&) const = default;
};

/// What one of those that can know a value says of it.
struct DisagreementSide {
  /// "reference", "exact", "emulator", "cuda", "kernel NAME" of another variant.
  std::string name;
  double value = 0;
  bool operator==(const DisagreementSide&) const = default;
};

/// The side that disagrees with the others about an element's value.
struct Disagreement {
  std::string dissenter;  ///< "kernel", "reference", "cuda", "emulator"; "none" where no two agree.
  std::string sentence;
  std::vector<DisagreementSide> sides;
  bool operator==(const Disagreement&) const = default;
};

/// Why a finding is there, as far as reports look into it; `gpuemu explain` says all of it.
struct Diagnosis {
  ExplainVerdict verdict = ExplainVerdict::Passes;
  std::string note;  ///< In one line, for people.
  std::optional<ExplainedStep> divergence;
  std::optional<Disagreement> disagreement;
  bool operator==(const Diagnosis&) const = default;
};

/// What can be wrong with an output or a kernel; those from LaunchError on appear only for ops with
/// kernels. Stored results hold the number: new kinds go to the end.
enum class FindingKind {
  ToleranceExceeded,  ///< An output is farther from its reference than the bound.
  NaNDetected,  ///< NaN where none may be, or none where one must be.
  InfDetected,  ///< Infinity where none may be, or none where one must be.
  ShapeMismatch,  ///< The reference has another shape than the output.
  DTypeMismatch,  ///< The reference has another dtype than the output.
  InvariantViolation,  ///< An output lacks a property that it must have.
  ReferenceError,  ///< The reference gave no answer.
  LaunchError,  ///< The kernel could not run: argument, entry, compile.
  Timeout,  ///< Stopped by the instruction or time budget.
  WorkerLost,  ///< The worker process died in this case.
  OutOfBounds,  ///< An access outside of every allocation.
  Misaligned,  ///< An address that is not a multiple of the access's size.
  UninitializedRead,  ///< A value that depends on memory that nothing has written.
  DataRace,  ///< Two accesses without an order between them, one of them a write.
  BarrierDivergence,  ///< Not all threads of a block reach a barrier.
  IllegalSync,  ///< Mask of a shuffle or vote, misuse of an mbarrier.
  UnsupportedInstruction,  ///< The emulator cannot execute it.
  Trap,  ///< The kernel stopped itself.
  DeviceFault,  ///< Any other fault the device reports.
  NotWritten,  ///< Output elements that no run wrote.
  GuardDamaged,  ///< Bytes before or after a tensor changed.
  InputModified,  ///< An input has other bytes after the launch.
  NonDeterministic,  ///< Runs on the same inputs differ.
  DivisionByZero,  ///< Division of integers, where the result matters.
  Deadlock,  ///< Threads that wait for each other for ever.
  StackOverflow,  ///< Calls need more local memory than a thread has.
  RelationViolation,  ///< Two runs of the kernel do not relate as they must.
  StaleOutput,  ///< The output is that of a run with other inputs.
};
inline constexpr FindingKind kLastFindingKind = FindingKind::StaleOutput;
/// The name on the wire, and back.
const char* name_of(FindingKind value);
std::optional<FindingKind> finding_kind_from_name(const std::string& name);

enum class LayoutKind {
  Contiguous,
  Strided,
  Transposed,
};
inline constexpr LayoutKind kLastLayoutKind = LayoutKind::Transposed;
/// The name on the wire, and back.
const char* name_of(LayoutKind value);
std::optional<LayoutKind> layout_from_name(const std::string& name);

/// One thing that is wrong.
struct ValidationFailure {
  FindingKind kind = FindingKind::ToleranceExceeded;
  std::string message;
  std::optional<int64_t> index;  ///< Flat row-major index of the first or worst element.
  std::optional<double> expected;
  std::optional<double> actual;
  std::string output;  ///< Name of the output tensor.
  std::string source_file;  ///< The kernel's, when known.
  uint32_t source_line = 0;
  /// In reports, of the first finding of its kind; not stored.
  std::optional<Diagnosis> diagnosis;
  bool operator==(const ValidationFailure&) const = default;
};

/// The errors of all compared elements.
struct ErrorStats {
  uint64_t count = 0;
  uint64_t num_exceeding = 0;
  double max_abs = 0;
  double mean_abs = 0;
  double p50_abs = 0;
  double p90_abs = 0;
  double p99_abs = 0;
  double max_rel = 0;
  double mean_rel = 0;
  uint64_t max_ulp = 0;
  double mean_ulp = 0;
  double mean_signed_ulp = 0;  ///< Output above reference is positive: a bias. Of a sample.
  bool operator==(const ErrorStats&) const = default;
};

/// The dims of an operator-aware shape (FuzzConfig.op_schema).
struct OpSchema {
  struct Dim {
    std::string name;
    std::vector<int64_t> candidates;
    bool operator==(const Dim&) const = default;
  };
  struct TensorDims {
    std::string name;
    std::vector<std::string> dims;
    bool operator==(const TensorDims&) const = default;
  };
  std::string name;
  std::vector<Dim> dims;
  std::vector<TensorDims> inputs;
  std::optional<TensorDims> output;
  bool operator==(const OpSchema&) const = default;
};

/// FuzzOp.fuzz_config, which selects the generator that clients of this protocol have always had.
struct FuzzConfig {
  uint64_t seed = 0;
  std::vector<int64_t> batch_sizes{1, 2, 4, 8};
  std::vector<int64_t> seq_lengths{64, 128, 256, 512};
  std::vector<int64_t> hidden_dims{512, 768, 1024};
  std::vector<Shape> edge_cases{{1}, {1, 1}, {1, 1, 1}};
  std::vector<DType> dtypes{DType::Float32, DType::Float16};
  std::vector<LayoutKind> layouts{LayoutKind::Contiguous, LayoutKind::Strided,
      LayoutKind::Transposed};
  std::optional<OpSchema> op_schema;
  bool operator==(const FuzzConfig&) const = default;
};

/// What brings a failure back. The members from base_seed on are of generated cases of kernels.
struct ReproductionInfo {
  uint64_t seed = 0;
  std::optional<FuzzConfig> fuzz_config;
  Shape shape;
  Strides strides;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;
  std::optional<std::vector<std::byte>> input_snapshot;  ///< Legacy snapshot bytes.
  std::optional<uint64_t> base_seed;
  std::optional<uint64_t> iteration;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> attrs;
  std::string value_strategy;
  std::string kernel;
  std::optional<double> value_scale;  ///< Set by minimization of values.
  /// What the value strategy takes beside the seed, such as numbers of the kernel.
  std::vector<double> value_parameters;
  /// "broadcast" or "reversed", which `layout` has no name for and calls Strided; else "".
  std::string layout_name;
  std::map<std::string, Strides> input_strides;  ///< Strides of such a layout, by input.
  /// Folder that `gpuemu reproduce` runs, of a failure that a check of a program found.
  std::string program_folder;
  bool operator==(const ReproductionInfo&) const = default;
};

/// What the threads of one source line did in the launches of a case; "lines" of a profile.
struct LineProfile {
  std::string file;  ///< "": without -lineinfo; then `line` is one of the PTX.
  uint32_t line = 0;
  uint64_t thread_instructions = 0;
  uint64_t warp_instructions = 0;
  uint64_t divergent_branches = 0;
  uint64_t global_requests = 0;
  uint64_t global_bytes = 0;
  uint64_t global_sectors = 0;
  uint64_t global_lines = 0;
  uint64_t shared_requests = 0;
  uint64_t shared_wavefronts = 0;
  uint64_t bank_conflicts = 0;
  bool operator==(const LineProfile&) const = default;
};

/// The verdict on one case.
struct ValidationResult {
  bool passed = true;
  uint64_t seed = 0;
  std::string op_name;
  double max_diff = 0;
  double max_rel_diff = 0;
  std::vector<ValidationFailure> failures;
  int64_t timestamp = 0;
  uint64_t duration_ms = 0;
  std::optional<ReproductionInfo> repro_info;
  std::optional<ErrorStats> error_stats;
  bool passes_now = false;  ///< In lists of failures: the case passed later.
  /// What is no failure and yet to be looked at, of a result that passed.
  std::vector<ValidationFailure> warnings;
  std::string project;  ///< In lists of stored results: the id of the project that it belongs to.
  std::string user;  ///< In lists of a daemon that several users share: who stored it.
  bool operator==(const ValidationResult&) const = default;
};

/// One stored result beside its baseline.
struct BaselineComparison {
  std::string op_name;
  uint64_t seed = 0;
  double current_max_diff = 0;
  std::optional<double> baseline_max_diff;
  bool current_passed = false;
  std::optional<bool> baseline_passed;
  std::optional<double> relative_change;
  bool is_regression = false;
  bool operator==(const BaselineComparison&) const = default;
};

/// What Minimize makes smaller: sizes and everything else, or only values.
enum class MinimizeStrategy {
  BinarySearchDims,
  BinarySearchValues,
};
inline constexpr MinimizeStrategy kLastMinimizeStrategy = MinimizeStrategy::BinarySearchValues;
/// The name on the wire, and back.
const char* name_of(MinimizeStrategy value);
std::optional<MinimizeStrategy> minimize_strategy_from_name(const std::string& name);

/// FuzzOp.config of the project's own form; it selects the project's own generator.
struct OwnFuzzConfig {
  std::optional<uint64_t> iterations;
  Shape min_shape;
  Shape max_shape;  ///< Empty means unrestricted.
  std::vector<DType> dtypes;  ///< Empty means the op's.
  std::vector<LayoutKind> layouts;  ///< Empty means all.
  std::vector<std::string> strategies;  ///< Empty means the default mixture.
  std::optional<uint64_t> seed;  ///< Absent: chosen by the daemon, told in the reply.
  bool operator==(const OwnFuzzConfig&) const = default;
};

/// Bytes of a memfd that another process has open.
struct SharedTensorRef {
  uint64_t process = 0;  ///< Its number.
  uint64_t descriptor = 0;  ///< What the process has the memfd open as.
  std::string name;  ///< What the memfd was made with: it must still be this one.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool operator==(const SharedTensorRef&) const = default;
};

}  // namespace gpuemu
