// Wire records of continuous integration runs (wire-protocol, section 3.9). What existing clients
// do not know stands behind a blank line in each record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/artifacts.h"
#include "common/protocol/proof.h"
#include "common/protocol/records.h"

namespace gpuemu {

/// What a run did with one op in one dtype.
struct CiOp {
  std::string op_name;
  DType dtype = DType::Float32;
  std::string kernel;  ///< The variant that ran.
  uint64_t cases = 0, passed = 0, failed = 0;
  uint64_t replayed = 0;       ///< Stored failures and corpus, among `cases`.
  bool cached = false;         ///< Nothing of it has changed since it passed with `cases` cases.
  std::string skipped_reason;  ///< Why it is not for this machine: it runs in the client.
  std::string error;           ///< Why it could not be run; the run is no success then.
  uint64_t duration_ms = 0;
  double max_diff = 0;
  double worst_error_use = 0;  ///< Largest error over its allowed bound; 1 is the limit.
  std::string file;            ///< Where it is declared.
  uint32_t line = 0;
  std::optional<Proof> proof;  ///< When a case passed.
  bool operator==(const CiOp&) const = default;
};

/// Where in an output the errors are: a grid over its rows (all axes but the last) and columns.
struct ErrorMap {
  std::string op_name, output;
  uint64_t seed = 0;
  DType dtype = DType::Float32;
  Shape shape;
  uint64_t rows = 0, columns = 0;  ///< Of the grid; elements share a cell where there are more.
  std::vector<double> cells;       ///< Largest |error| in each, row by row; not finite: null.
  std::map<std::string, uint64_t> distribution;  ///< Elements by decade of |error|: "1e-06", "0".
  bool operator==(const ErrorMap&) const = default;
};

/// A kernel's numbers at one time, for one architecture.
struct TrendPoint {
  int64_t timestamp = 0;
  std::string label;  ///< The baseline that they are of; "" of an earlier run.
  uint64_t registers = 0, spill_bytes = 0, stack_bytes = 0, shared_bytes = 0;
  uint64_t instructions = 0;  ///< Of the machine code, of the PTX where there is none.
  bool operator==(const TrendPoint&) const = default;
};

/// How a kernel's numbers became what they are.
struct KernelTrend {
  std::string kernel_name, arch;   ///< `arch` is "" where only the PTX was measured.
  std::vector<TrendPoint> points;  ///< Oldest first; the last one is of this run.
  bool operator==(const KernelTrend&) const = default;
};

struct CiRunSummary {
  uint64_t total_tests = 0, passed = 0, failed = 0, skipped = 0;
  uint64_t duration_ms = 0;
  int64_t timestamp = 0;
  std::vector<ValidationResult> validation_results;
  std::vector<LintResult> lint_results;
  std::optional<ArtifactDiffSummary> artifact_diffs;

  std::string profile;             ///< "quick", "default" or "thorough"
  uint64_t seed = 0;               ///< Base seed of the cases.
  uint64_t shard = 0, shards = 0;  ///< 2 and 8 of "2/8"; 0 when it is the whole.
  std::string backend, device;
  std::vector<CiOp> ops;
  uint64_t kernels_cached = 0;    ///< Of lint_results, those whose measurement was kept.
  bool regressions_pass = false;  ///< policies.fail_on_regression is off.
  std::vector<BaselineComparison> result_diffs;  ///< With a baseline: results, one per case.
  std::vector<std::string> notes;                ///< What the reader should know: time ran out.
  std::vector<CoveredLine> coverage;  ///< When it was asked for, on a device that counts.
  std::optional<ErrorMap> worst;      ///< Of the first failing case with comparable values.
  std::vector<KernelTrend> trends;    ///< Of kernels that were measured before.
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const CiRunSummary&) const = default;

  bool has_regressions() const;
  /// Something could not be run or measured: neither success nor finding.
  bool is_broken() const;
};

}  // namespace gpuemu
