#include "judge/scan/scan_block.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/infinity.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

void add_fault(Fault fault, size_t index, Scan& scan) {
  if (fault != Fault::None) scan.faults[static_cast<size_t>(fault)].add(index, scan.grid);
}

/// Requires a finite `difference`.
void add_use(size_t index, double difference, double bound, Scan& scan) {
  if (!(difference > 0)) return;
  const double use = bound > 0 ? difference / bound : kInfinity;
  if (use > scan.bound_ratio_max) {
    scan.bound_ratio_max = use;
    scan.worst_error = difference;
    scan.worst_index = index;
  }
}

void add_relative(double absolute, double difference, double reference, Scan& scan) {
  if (reference != 0) {
    const double quotient = absolute / std::fabs(reference);
    const double relative = std::isnan(quotient) ? kInfinity : quotient;
    ++scan.rel_count;
    scan.sum_rel += relative;
    scan.max_rel = std::max(scan.max_rel, relative);
  }
  if (std::isnan(difference)) return;
  scan.max_diff = std::max(scan.max_diff, difference);
  const double against = reference != 0 ? difference / std::fabs(reference) : difference;
  if (!std::isnan(against)) scan.max_rel_diff = std::max(scan.max_rel_diff, against);
}

/// Part of a block that is scanned one by one if vectors refuse the block and this part of it.
constexpr size_t kPieceElements = 2 * kGroupElements;

/// Returns false if the block needs slow_block; `scan` is then unchanged.
bool vector_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  return (run.narrow && float_block(run, first, count, scan)) ||
         wide_block(run, first, count, scan);
}

struct Element {
  size_t index;
  double output, reference, bound;
};

/// Adds an element to the scan, except to its cells, and returns its absolute error for those.
double add_element(const BlockRun& run, const Element& element, Scan& scan) {
  const auto& [index, output, reference, bound] = element;
  add_fault(run.judge.with_bound(output, reference, bound), index, scan);
  const double difference = std::fabs(output - reference);
  const double absolute = std::isfinite(difference) ? difference : kInfinity;
  scan.sum_abs += absolute;
  scan.max_abs = std::max(scan.max_abs, absolute);
  add_relative(absolute, difference, reference, scan);
  if (std::isfinite(difference)) {
    add_use(index, difference, bound, scan);
  }
  const FloatFormat& format = format_of(run.judge.comparison().output.dtype);
  const uint64_t ulps = ulp_distance(format, output, reference);
  scan.max_ulp = std::max(scan.max_ulp, ulps);
  scan.sum_ulp += static_cast<double>(ulps);
  return absolute;
}

}  // namespace

void slow_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  std::array<double, kBlockElements> output, reference, bound, error;
  decode(run.judge.comparison().output, first, {output.data(), count});
  decode(run.judge.comparison().reference, first, {reference.data(), count});
  run.judge.bound().fill(first, {reference.data(), count}, {bound.data(), count});
  for (size_t i = 0; i < count; ++i) {
    error[i] = add_element(run, {first + i, output[i], reference[i], bound[i]}, scan);
  }
  scan.errors.add_all(run.cells, {error.data(), count});
  scan.count += count;
}

double use_threshold(const Scan& scan) { return scan.bound_ratio_max * (1 - 0x1p-50); }

void judge_errors(const BlockRun& run, const WideBlock& block, size_t first, size_t last,
                  Scan& scan) {
  const bool ulps_pass = run.judge.comparison().policy.tolerance.ulp.has_value();
  for (size_t i = first; i < last; ++i) {
    const size_t index = block.first + i;
    if (!(block.error[i] <= block.bound[i])) {
      const Fault fault =
          ulps_pass ? run.judge.of(index, block.output[i], block.reference[i]) : Fault::Tolerance;
      add_fault(fault, index, scan);
    }
    if (!(block.error[i] < use_threshold(scan) * block.bound[i])) {
      add_use(index, block.error[i], block.bound[i], scan);
    }
  }
}

void scan_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  const size_t groups = run.wide ? count / kGroupElements * kGroupElements : 0;
  if (groups > 0 && !vector_block(run, first, groups, scan)) {
    // Often a single element is not finite.
    for (size_t at = 0; at < groups; at += kPieceElements) {
      const size_t piece = std::min(kPieceElements, groups - at);
      if (!vector_block(run, first + at, piece, scan)) slow_block(run, first + at, piece, scan);
    }
  }
  if (groups < count) slow_block(run, first + groups, count - groups, scan);
}

}  // namespace gpuemu
