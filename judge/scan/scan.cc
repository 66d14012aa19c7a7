#include "judge/scan/scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/processors.h"
#include "judge/bounds/float_format.h"
#include "judge/scan/scan_block.h"
#include "judge/scan/ulps_avx2.h"

namespace gpuemu {
namespace {

// Below this size, keeping all errors is as cheap as sampling.
constexpr size_t kSampleFrom = 16384;
constexpr size_t kSampleMax = size_t{1} << 12;
// Enough to detect a bias of a tenth of a unit, and a small part of the pass.
constexpr size_t kBiasSample = 4096;
// Starting a second thread costs about ten microseconds.
constexpr size_t kThreadElementsMin = size_t{1} << 20;

bool asks_for(const ValidationPolicy& policy, InvariantKind kind) {
  return std::any_of(policy.invariants.begin(), policy.invariants.end(),
                     [&](const InvariantSpec& spec) { return spec.kind == kind; });
}

double absolute_error(double output, double reference) {
  const double difference = std::fabs(output - reference);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

/// Returns one index in every stretch, at positions that no period of the data can match.
std::vector<size_t> sample_places(size_t count, size_t size) {
  std::vector<size_t> places(size);
  const double step = static_cast<double>(count) / static_cast<double>(size);
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double place =
        (static_cast<double>(i) + static_cast<double>(state >> 40) * 0x1p-24) * step;
    places[i] = std::min(static_cast<size_t>(place), count - 1);
  }
  return places;
}

HistogramCells cells_of(const Comparison& comparison, size_t count) {
  if (count < kSampleFrom) return keep_all();
  const TensorView &output = comparison.output, &reference = comparison.reference;
  const size_t output_size = byte_size(output.dtype), reference_size = byte_size(reference.dtype);
  const std::vector<size_t> places = sample_places(count, std::min(count / 16, kSampleMax));
  std::vector<double> sample(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    // Each sample is a cache miss; prefetching makes the misses overlap.
    const size_t ahead = places[std::min(i + 24, places.size() - 1)];
    __builtin_prefetch(output.data.data() + ahead * output_size);
    __builtin_prefetch(reference.data.data() + ahead * reference_size);
    sample[i] = absolute_error(element(output, places[i]), element(reference, places[i]));
  }
  return cells_around_percentiles(std::move(sample), count);
}

void scan_range(const BlockRun& run, size_t first, size_t last, Scan& scan) {
  for (size_t at = first; at < last; at += kBlockElements) {
    scan_block(run, at, std::min(kBlockElements, last - at), scan);
  }
}

/// `from` is the scan of the elements after those of `to`.
void merge_scans(Scan& to, Scan&& from) {
  for (size_t i = 0; i < kFaultCount; ++i) to.faults[i].merge(from.faults[i]);
  to.count += from.count;
  to.sum_abs += from.sum_abs;
  to.sum_rel += from.sum_rel;
  to.sum_ulp += from.sum_ulp;
  to.rel_count += from.rel_count;
  to.max_abs = std::max(to.max_abs, from.max_abs);
  to.max_rel = std::max(to.max_rel, from.max_rel);
  to.max_ulp = std::max(to.max_ulp, from.max_ulp);
  to.max_diff = std::max(to.max_diff, from.max_diff);
  to.max_rel_diff = std::max(to.max_rel_diff, from.max_rel_diff);
  if (from.bound_ratio_max > to.bound_ratio_max) {
    to.bound_ratio_max = from.bound_ratio_max;
    to.worst_error = from.worst_error;
    to.worst_index = from.worst_index;
  }
  to.errors.merge(std::move(from.errors));
}

/// Returns the mean error in ulps, positive if the output is above the reference, over up to
/// kBiasSample elements spread over the output. A mean far from 0 means that rounding always goes
/// in one direction.
double mean_signed_ulp(const Comparison& comparison, size_t count) {
  const std::vector<size_t> places =
      count > kBiasSample ? sample_places(count, kBiasSample) : std::vector<size_t>();
  const FloatFormat& format = format_of(comparison.output.dtype);
  double sum = 0;
  size_t finite = 0;
  const auto add = [&](double output, double reference) {
    if (!std::isfinite(output) || !std::isfinite(reference)) return;
    ++finite;
    sum += static_cast<double>(order_number(format, output)) -
           static_cast<double>(order_number(format, reference));
  };
  for (const size_t index : places) {
    add(element(comparison.output, index), element(comparison.reference, index));
  }
  // All elements: converting blocks takes a fraction of the time of single elements.
  std::array<double, kBlockElements> outputs, references;
  for (size_t at = 0; places.empty() && at < count; at += kBlockElements) {
    const size_t part = std::min(kBlockElements, count - at);
    const auto reference = as_doubles(comparison.reference, at, {references.data(), part});
    if (const auto whole = signed_ulps_of(comparison.output, at, reference)) {
      finite += part;
      sum += *whole;
      continue;
    }
    const auto output = as_doubles(comparison.output, at, {outputs.data(), part});
    for (size_t i = 0; i < part; ++i) add(output[i], reference[i]);
  }
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

void fill_stats(const Judge& judge, const HistogramCells& cells, Scan& scan, ErrorStats& stats) {
  stats.count = scan.count;
  for (const MismatchPattern& tally : scan.faults) stats.num_exceeding += tally.count();
  if (scan.count == 0) return;
  const auto count = static_cast<double>(scan.count);
  stats.max_abs = scan.max_abs;
  stats.mean_abs = scan.sum_abs / count;
  stats.max_rel = scan.max_rel;
  stats.mean_rel = scan.rel_count == 0 ? 0 : scan.sum_rel / static_cast<double>(scan.rel_count);
  stats.max_ulp = scan.max_ulp;
  stats.mean_ulp = scan.sum_ulp / count;
  if (scan.max_ulp > 0) stats.mean_signed_ulp = mean_signed_ulp(judge.comparison(), scan.count);
  const Comparison& comparison = judge.comparison();
  const Revisit revisit = [&](const std::function<void(double)>& visit) {
    for (size_t i = 0; i < scan.count; ++i) {
      visit(absolute_error(element(comparison.output, i), element(comparison.reference, i)));
    }
  };
  const auto [p50, p90, p99] = percentiles_of(scan.count, cells, scan.errors, revisit);
  stats.p50_abs = p50;
  stats.p90_abs = p90;
  stats.p99_abs = p99;
}

uint64_t bits_of(const TensorView& tensor, size_t index) {
  // Sign-extended for signed types, so that any two integers can be compared as 65-bit numbers.
  if (tensor.dtype == DType::UInt64) {
    uint64_t value = 0;
    std::copy_n(tensor.data.data() + index * 8, 8, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  if (tensor.dtype == DType::Int64) {
    int64_t value = 0;
    std::copy_n(tensor.data.data() + index * 8, 8, reinterpret_cast<std::byte*>(&value));
    return static_cast<uint64_t>(value);
  }
  return static_cast<uint64_t>(static_cast<int64_t>(element(tensor, index)));
}

/// Returns |a - b| of two integers of any types as double; exact below 2^53.
double integer_distance(const TensorView& a, const TensorView& b, size_t index) {
  const uint64_t left = bits_of(a, index), right = bits_of(b, index);
  const bool left_negative = a.dtype != DType::UInt64 && static_cast<int64_t>(left) < 0;
  const bool right_negative = b.dtype != DType::UInt64 && static_cast<int64_t>(right) < 0;
  if (left_negative == right_negative) {
    return static_cast<double>(left > right ? left - right : right - left);
  }
  const uint64_t magnitude_left = left_negative ? ~left + 1 : left;
  const uint64_t magnitude_right = right_negative ? ~right + 1 : right;
  return static_cast<double>(magnitude_left) + static_cast<double>(magnitude_right);
}

}  // namespace

FindingKind kind_of(Fault fault, bool legacy) {
  switch (fault) {
    case Fault::None:
    case Fault::Tolerance:
      return FindingKind::ToleranceExceeded;
    case Fault::NanCreated:
    case Fault::NanBoth:
      return FindingKind::NaNDetected;
    case Fault::InfCreated:
    case Fault::InfBoth:
      return FindingKind::InfDetected;
    // For existing clients, NaNDetected and InfDetected are about the output.
    case Fault::NanLost:
      return legacy ? FindingKind::ToleranceExceeded : FindingKind::NaNDetected;
    case Fault::InfLost:
      return legacy ? FindingKind::ToleranceExceeded : FindingKind::InfDetected;
  }
  GPUEMU_UNREACHABLE();
}

Grid grid_of(const Shape& shape) {
  Grid grid;
  if (shape.empty()) return grid;
  grid.columns = static_cast<size_t>(std::max<int64_t>(shape.back(), 1));
  grid.rows = static_cast<size_t>(element_count(shape)) / grid.columns;
  return grid;
}

Judge::Judge(const Comparison& comparison) : comparison_(comparison), bound_(comparison) {
  const ValidationPolicy& policy = comparison.policy;
  rules_.policy = policy.nan_policy;
  const bool legacy = !policy.nan_policy.has_value();
  const bool finite = asks_for(policy, InvariantKind::Finite);
  rules_.refuse_nan =
      (legacy && policy.check_nan) || asks_for(policy, InvariantKind::NoNan) || finite;
  rules_.refuse_inf =
      (legacy && policy.check_inf) || asks_for(policy, InvariantKind::NoInf) || finite;
  rules_.overflow_edge = !legacy && is_float(comparison.output.dtype) && !rules_.refuse_inf;
}

Fault Judge::of_non_finite(double output, double reference) const {
  const bool lenient = rules_.policy == NanPolicy::Class || rules_.policy == NanPolicy::Any;
  if (std::isnan(output)) {
    if (rules_.refuse_nan) return std::isnan(reference) ? Fault::NanBoth : Fault::NanCreated;
    if (std::isnan(reference)) return Fault::None;
    return lenient && std::isinf(reference) ? Fault::None : Fault::NanCreated;
  }
  if (std::isinf(output)) {
    if (rules_.refuse_inf) return output == reference ? Fault::InfBoth : Fault::InfCreated;
    if (output == reference) return Fault::None;
    if (!std::isfinite(reference)) {
      if (lenient) return Fault::None;
      return std::isnan(reference) ? Fault::NanLost : Fault::InfCreated;
    }
    if (!rules_.overflow_edge) return Fault::InfCreated;
    // Rounding alone may carry a reference near the largest value to infinity.
    const FloatFormat& format = format_of(comparison_.output.dtype);
    const bool at_edge = std::fabs(reference) * (1 + 4 * format.unit) >= format.max;
    return at_edge && std::signbit(output) == std::signbit(reference) ? Fault::None
                                                                      : Fault::InfCreated;
  }
  if (rules_.policy == NanPolicy::Any) return Fault::None;
  return std::isnan(reference) ? Fault::NanLost : Fault::InfLost;
}

Fault Judge::of(size_t index, double output, double reference) const {
  if (!std::isfinite(output) || !std::isfinite(reference)) return of_non_finite(output, reference);
  return with_bound(output, reference, bound_.at(index, reference));
}

Fault Judge::with_bound(double output, double reference, double bound) const {
  if (!std::isfinite(output) || !std::isfinite(reference)) return of_non_finite(output, reference);
  if (std::fabs(output - reference) <= bound) return Fault::None;
  const auto& ulps = comparison_.policy.tolerance.ulp;
  if (ulps.has_value() && !comparison_.policy.tolerance.automatic &&
      is_float(comparison_.output.dtype)) {
    const FloatFormat& format = format_of(comparison_.output.dtype);
    if (ulp_distance(format, output, reference) <= *ulps) return Fault::None;
  }
  return Fault::Tolerance;
}

Fault Judge::at(size_t index) const {
  if (is_undefined(index)) return Fault::None;
  const TensorView &output = comparison_.output, &reference = comparison_.reference;
  if (!is_float(output.dtype) && !is_float(reference.dtype)) {
    const double distance = integer_distance(output, reference, index);
    const bool within = distance <= bound_.at(index, element(reference, index));
    return within ? Fault::None : Fault::Tolerance;
  }
  return of(index, element(output, index), element(reference, index));
}

ScanOptions fastest_scan() { return {has_vector_blocks(), kThreadElementsMin}; }

Scan scan_floats(const Judge& judge, const ScanOptions& options, ErrorStats& stats) {
  const Comparison& comparison = judge.comparison();
  const auto count = static_cast<size_t>(element_count(comparison.output.shape));
  const HistogramCells cells = cells_of(comparison, count);
  const bool floats =
      comparison.output.dtype == DType::Float32 && comparison.reference.dtype == DType::Float32;
  const BlockRun run{judge, cells, options.vectors,
                     options.vectors && floats && judge.bound().plain()};
  const bool halve = count >= options.halve_from;
  const size_t half = halve ? count / 2 / kBlockElements * kBlockElements : count;
  Scan scan(comparison.output, cells, half);
  if (halve) {
    Scan second(comparison.output, cells, count - half);
    std::thread helper([&] { scan_range(run, half, count, second); });
    keep_off_my_processor(helper.native_handle());
    scan_range(run, 0, half, scan);
    helper.join();
    merge_scans(scan, std::move(second));
  } else {
    scan_range(run, 0, half, scan);
  }
  fill_stats(judge, cells, scan, stats);
  return scan;
}

Scan scan_exact(const Judge& judge) {
  const Comparison& comparison = judge.comparison();
  const bool integers = !is_float(comparison.reference.dtype);
  const HistogramCells cells;
  Scan scan(comparison.output, cells, 0);
  scan.count = static_cast<uint64_t>(element_count(comparison.output.shape));
  for (size_t i = 0; i < scan.count; ++i) {
    if (judge.is_undefined(i)) continue;
    const double reference = element(comparison.reference, i);
    const double distance = integers ? integer_distance(comparison.output, comparison.reference, i)
                                     : std::fabs(element(comparison.output, i) - reference);
    if (!std::isnan(distance)) scan.max_diff = std::max(scan.max_diff, distance);
    const Fault fault = judge.at(i);
    if (fault == Fault::None) continue;
    scan.faults[static_cast<size_t>(fault)].add(i, scan.grid);
    if (distance > scan.bound_ratio_max) {
      scan.bound_ratio_max = distance;
      scan.worst_index = i;
    }
  }
  return scan;
}

}  // namespace gpuemu
