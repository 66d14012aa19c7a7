// The records of the wire protocol that several messages share, as C++ values. Names are the
// wire's. JSON stays inside this folder: json_codec.h turns records into text and back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/explain.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

enum class FindingKind {
  ToleranceExceeded,
  NaNDetected,
  InfDetected,
  ShapeMismatch,
  DTypeMismatch,
  InvariantViolation,
  ReferenceError,
  // Ours; they appear only for ops with kernels.
  LaunchError,  ///< The kernel could not run: argument, entry, compile.
  Timeout,      ///< Stopped by the instruction or time budget.
  WorkerLost,   ///< The worker process died in this case.
  OutOfBounds,
  Misaligned,
  UninitializedRead,
  DataRace,
  BarrierDivergence,
  IllegalSync,  ///< Mask of a shuffle or vote, misuse of an mbarrier.
  UnsupportedInstruction,
  Trap,
  DeviceFault,   ///< Any other fault the device reports.
  NotWritten,    ///< Output elements that no run wrote.
  GuardDamaged,  ///< Bytes before or after a tensor changed.
  InputModified,
  NonDeterministic,
  // Stored results hold the number: new kinds go to the end.
  DivisionByZero,  ///< Of integers, where the result matters.
  Deadlock,        ///< Threads that wait for each other for ever.
  StackOverflow,
  RelationViolation,  ///< Two runs of the kernel do not relate as they must.
  StaleOutput,        ///< The output is that of a run with other inputs.
};
inline constexpr FindingKind kLastFindingKind = FindingKind::StaleOutput;
/// The enumerator's spelling, which is the wire's; and back (accepts ReferenceScriptFailed and
/// DtypeMismatch too).
const char* name_of(FindingKind kind);
std::optional<FindingKind> finding_kind_from_name(const std::string& name);

struct ValidationFailure {
  FindingKind kind = FindingKind::ToleranceExceeded;
  std::string message;
  std::optional<int64_t> index;  ///< Flat row-major index of the first or worst element.
  std::optional<double> expected, actual;
  // Additions of ours; absent members are not sent.
  std::string output;       ///< Name of the output tensor.
  std::string source_file;  ///< Of the kernel, when known.
  uint32_t source_line = 0;
  std::optional<Diagnosis>
      diagnosis;  ///< In reports, of the first finding of its kind; not stored.
  bool operator==(const ValidationFailure&) const = default;
};

struct ErrorStats {
  uint64_t count = 0, num_exceeding = 0;
  double max_abs = 0, mean_abs = 0, p50_abs = 0, p90_abs = 0, p99_abs = 0, max_rel = 0,
         mean_rel = 0;
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

enum class LayoutKind { Contiguous, Strided, Transposed };
const char* name_of(LayoutKind layout);                               ///< "Contiguous"
const char* lower_name_of(LayoutKind layout);                         ///< "contiguous"
std::optional<LayoutKind> layout_from_name(const std::string& name);  ///< Either case.

struct FuzzConfig {
  uint64_t seed = 0;
  std::vector<int64_t> batch_sizes{1, 2, 4, 8}, seq_lengths{64, 128, 256, 512},
      hidden_dims{512, 768, 1024};
  std::vector<Shape> edge_cases{{1}, {1, 1}, {1, 1, 1}};
  std::vector<DType> dtypes{DType::Float32, DType::Float16};
  std::vector<LayoutKind> layouts{LayoutKind::Contiguous, LayoutKind::Strided,
                                  LayoutKind::Transposed};
  std::optional<OpSchema> op_schema;
  bool operator==(const FuzzConfig&) const = default;
};

struct ReproductionInfo {
  uint64_t seed = 0;
  std::optional<FuzzConfig> fuzz_config;
  Shape shape;
  Strides strides;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;
  std::optional<std::vector<std::byte>> input_snapshot;  ///< Legacy snapshot bytes.
  // Additions of ours for generated kernel cases.
  std::optional<uint64_t> base_seed, iteration;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> attrs;
  std::string value_strategy, kernel;
  std::optional<double> value_scale;  ///< Set by minimization of values.
  /// What the value strategy takes beside the seed, such as numbers of the kernel.
  std::vector<double> value_parameters;
  /// "broadcast" or "reversed", which `layout` has no name for and calls Strided; else "".
  std::string layout_name;
  std::map<std::string, Strides> input_strides;  ///< Of such a layout, by input.
  bool operator==(const ReproductionInfo&) const = default;
};

/// What the threads of one source line did in the launches of a case; "lines" of a profile.
struct LineProfile {
  std::string file;  ///< "": without -lineinfo; then `line` is one of the PTX.
  uint32_t line = 0;
  uint64_t thread_instructions = 0, warp_instructions = 0;
  uint64_t divergent_branches = 0;
  uint64_t global_requests = 0, global_bytes = 0, global_sectors = 0, global_lines = 0;
  uint64_t shared_requests = 0, shared_wavefronts = 0, bank_conflicts = 0;
  bool operator==(const LineProfile&) const = default;
};

struct ValidationResult {
  bool passed = true;
  uint64_t seed = 0;
  std::string op_name;
  double max_diff = 0, max_rel_diff = 0;
  std::vector<ValidationFailure> failures;
  int64_t timestamp = 0;
  uint64_t duration_ms = 0;
  std::optional<ReproductionInfo> repro_info;
  std::optional<ErrorStats> error_stats;
  bool passes_now = false;  ///< An addition of ours, in lists of failures: the case passed later.
  /// What is no failure and yet to be looked at, of a result that passed.
  std::vector<ValidationFailure> warnings;
  bool operator==(const ValidationResult&) const = default;
};

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

}  // namespace gpuemu
