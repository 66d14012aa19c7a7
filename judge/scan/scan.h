// The single pass over output and reference: all statistics, faults of elements and the largest
// ratio of error to bound. Fast for blocks without a fault or a new maximum; element by element for
// the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "judge/bounds/comparison.h"
#include "judge/bounds/error_bound.h"
#include "judge/scan/mismatch_pattern.h"
#include "judge/scan/percentiles.h"

namespace gpuemu {

enum class Fault : uint8_t {
  None,
  Tolerance,
  NanCreated,
  NanLost,
  NanBoth,
  InfCreated,
  InfLost,
  InfBoth
};
inline constexpr size_t kFaultCount = 8;
FindingKind kind_of(Fault fault, bool legacy);

/// How non-finite values are judged.
struct NonFiniteRules {
  std::optional<NanPolicy> policy;
  bool refuse_nan = false, refuse_inf = false;  ///< Even if the reference has the same.
  bool overflow_edge = false;  ///< Inf for a finite reference near the format's largest value.
};

/// Judges single elements; shared by the scan and the search for error patterns.
class Judge {
 public:
  /// The comparison must outlive the judge.
  explicit Judge(const Comparison& comparison);
  Fault of(size_t index, double output, double reference) const;
  /// of() where bound().at() is known.
  Fault with_bound(double output, double reference, double bound) const;
  Fault at(size_t index) const;
  bool is_undefined(size_t index) const {
    return !comparison_.undefined.empty() && comparison_.undefined[index] != 0;
  }
  const Comparison& comparison() const { return comparison_; }
  const ErrorBound& bound() const { return bound_; }
  bool legacy() const { return !rules_.policy.has_value(); }

 private:
  Fault of_non_finite(double output, double reference) const;
  const Comparison& comparison_;
  ErrorBound bound_;
  NonFiniteRules rules_;
};

Grid grid_of(const Shape& shape);

struct Scan {
  /// For up to `size` elements of the output.
  Scan(const TensorView& output, const HistogramCells& cells, size_t size)
      : grid(grid_of(output.shape)), errors(cells, size) {}
  Grid grid;
  uint64_t count = 0;
  std::array<MismatchPattern, kFaultCount> faults;
  double sum_abs = 0, max_abs = 0, sum_rel = 0, max_rel = 0, sum_ulp = 0;
  uint64_t rel_count = 0, max_ulp = 0;
  double max_diff = 0, max_rel_diff = 0;
  double bound_ratio_max = 0;
  double worst_error = 0;  ///< |o - r| at worst_index.
  size_t worst_index = 0;
  CellCounts errors;  ///< Counts of the absolute errors.
};

/// How a scan runs. Does not change its results, except for the last digits of the means.
struct ScanOptions {
  bool vectors = false;            ///< Requires has_vector_blocks().
  size_t halve_from = ~size_t{0};  ///< Number of elements from which a second thread takes one
                                   ///< half.
};
ScanOptions fastest_scan();

/// For float outputs. `stats` receives the statistics of the wire protocol.
Scan scan_floats(const Judge& judge, const ScanOptions& options, ErrorStats& stats);
/// For integers, bool, and float references of these.
Scan scan_exact(const Judge& judge);

}  // namespace gpuemu
