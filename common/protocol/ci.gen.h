// Records of continuous integration runs (wire-protocol, section 3.9).
// Written by tools/make_protocol.py from ci.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// How large the error of one case is, for charts.
struct CaseSample {
  uint64_t elements = 0;  ///< Compared elements of its outputs.
  double max_diff = 0;
  double bound_ratio = 0;  ///< Its largest error over the allowed bound; 1 is the limit.
  std::string values;  ///< Its value strategy.
  bool passed = false;
  bool operator==(const CaseSample&) const = default;
};

/// What a run did with one op in one dtype.
struct CiOp {
  std::string op_name;
  DType dtype = DType::Float32;
  std::string kernel;  ///< The variant that ran.
  uint64_t cases = 0;
  uint64_t passed = 0;
  uint64_t failed = 0;
  uint64_t replayed = 0;  ///< Stored failures and corpus, among `cases`.
  bool cached = false;  ///< Nothing of it has changed since it passed with `cases` cases.
  std::string skipped_reason;  ///< Why it is not for this machine: it runs in the client.
  std::string error;  ///< Why it could not be run; the run is no success then.
  uint64_t duration_ms = 0;
  double max_diff = 0;
  double bound_ratio_max = 0;  ///< Largest error over its allowed bound; 1 is the limit.
  std::string file;  ///< Where it is declared.
  uint32_t line = 0;
  std::optional<Evidence> evidence;  ///< When a case passed.
  OpState state = OpState::Ran;
  /// Cases with comparable values, the first 512; none of scripts.
  std::vector<CaseSample> samples;
  bool operator==(const CiOp&) const = default;
};

/// Where in an output the errors are: a grid over its rows (all axes but the last) and columns.
struct ErrorMap {
  std::string op_name;
  std::string output;
  uint64_t seed = 0;
  DType dtype = DType::Float32;
  Shape shape;
  uint64_t rows = 0;
  uint64_t columns = 0;  ///< The grid's; elements share a cell where there are more.
  std::vector<double> cells;  ///< Largest |error| in each, row by row; not finite: null.
  std::map<std::string, uint64_t> distribution;  ///< Elements by decade of |error|: "1e-06", "0".
  std::optional<double> bound;  ///< What the element that exceeds its bound most may be off.
  bool operator==(const ErrorMap&) const = default;
};

/// A kernel's numbers at one time, for one architecture.
struct TrendPoint {
  int64_t timestamp = 0;
  std::string label;  ///< The baseline that they are of; "" of an earlier run.
  uint64_t registers = 0;
  uint64_t spill_bytes = 0;
  uint64_t stack_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t instructions = 0;  ///< In the machine code; where there is none, in the PTX.
  bool operator==(const TrendPoint&) const = default;
};

/// How a kernel's numbers became what they are.
struct KernelTrend {
  std::string kernel_name;
  std::string arch;  ///< `arch` is "" where only the PTX was measured.
  std::vector<TrendPoint> points;  ///< Oldest first; the last one is of this run.
  bool operator==(const KernelTrend&) const = default;
};

/// What a CI run found. What stands before `profile` is what existing clients know.
struct CiRunSummary {
  uint64_t total_tests = 0;
  uint64_t passed = 0;
  uint64_t failed = 0;
  uint64_t skipped = 0;
  uint64_t duration_ms = 0;
  int64_t timestamp = 0;
  std::vector<ValidationResult> validation_results;
  std::vector<LintResult> lint_results;
  std::optional<ArtifactDiffSummary> artifact_diffs;
  std::string profile;  ///< "quick", "default" or "thorough"
  uint64_t seed = 0;  ///< Base seed of the cases.
  uint64_t shard = 0;
  uint64_t shards = 0;  ///< 2 and 8 of "2/8"; 0 when it is the whole.
  std::string backend;
  std::string device;
  std::vector<CiOp> ops;
  uint64_t kernels_cached = 0;  ///< How many lint_results are kept measurements.
  bool regressions_pass = false;  ///< policies.fail_on_regression is off.
  std::vector<BaselineComparison> result_diffs;  ///< With a baseline: results, one per case.
  std::vector<std::string> notes;  ///< What the reader should know: time ran out.
  std::vector<CoveredLine> coverage;  ///< Where it was asked for, on a device that counts.
  std::optional<ErrorMap> worst;  ///< The first failing case with comparable values.
  std::vector<KernelTrend> trends;  ///< Kernels that were measured before.
  std::string incomplete;  ///< What ended the run early, "" when all was done.
  std::string error;  ///< Why not all could be run: the daemon was stopped. "" when it could.
  /// "local": kernels ran in the daemon, which has no workers; "" where workers ran them.
  std::string execution;
  bool operator==(const CiRunSummary&) const = default;
};

}  // namespace gpuemu
