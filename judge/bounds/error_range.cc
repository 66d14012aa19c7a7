#include "judge/bounds/error_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Returns the value rounded up to two significant decimal digits.
double rounded_up(double value) {
  if (!(value > 0)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  const double rounded = std::ceil(value / unit * (1 - 1e-12)) * unit;
  return rounded >= value ? rounded : rounded + unit;
}

/// Returns the room that the tolerance leaves above the errors, in octaves, summed over all
/// magnitudes.
double slack(const ErrorRange& envelope, const EnclosingTolerance& tolerance) {
  double octaves = 0;
  for (const auto& [exponent, error] : envelope.largest) {
    if (error <= 0) continue;
    octaves += std::log2((tolerance.atol + tolerance.rtol * std::ldexp(1.0, exponent)) / error);
  }
  return octaves;
}

/// Takes the relative part from the magnitudes at `bend` and above, and the absolute part from the
/// rest.
EnclosingTolerance with_bend(const ErrorRange& envelope, int bend) {
  EnclosingTolerance found;
  for (const auto& [exponent, error] : envelope.largest) {
    if (exponent >= bend) found.rtol = std::max(found.rtol, error / std::ldexp(1.0, exponent));
  }
  found.atol = envelope.largest_at_zero;
  for (const auto& [exponent, error] : envelope.largest) {
    found.atol = std::max(found.atol, error - found.rtol * std::ldexp(1.0, exponent));
  }
  return found;
}

}  // namespace

void ErrorRange::merge(const ErrorRange& other) {
  for (const auto& [exponent, error] : other.largest) {
    double& mine = largest[exponent];
    mine = std::max(mine, error);
  }
  largest_at_zero = std::max(largest_at_zero, other.largest_at_zero);
  elements += other.elements;
}

void add_errors(const Comparison& comparison, ErrorRange& to) {
  const auto count = static_cast<size_t>(element_count(comparison.output.shape));
  std::vector<double> outputs(std::min<size_t>(count, 1024)), references(outputs.size());
  for (size_t at = 0; at < count; at += outputs.size()) {
    const size_t size = std::min(outputs.size(), count - at);
    decode(comparison.output, at, std::span(outputs).first(size));
    decode(comparison.reference, at, std::span(references).first(size));
    for (size_t i = 0; i < size; ++i) {
      if (!std::isfinite(outputs[i]) || !std::isfinite(references[i])) continue;
      ++to.elements;
      const double error = std::fabs(outputs[i] - references[i]);
      if (std::fabs(references[i]) < std::numeric_limits<double>::min()) {
        to.largest_at_zero = std::max(to.largest_at_zero, error);
        continue;
      }
      double& largest = to.largest[std::ilogb(references[i])];
      largest = std::max(largest, error);
    }
  }
}

EnclosingTolerance enclose(const ErrorRange& envelope, double factor) {
  EnclosingTolerance best = with_bend(envelope, std::numeric_limits<int>::max());
  double least = slack(envelope, best);
  for (const auto& [exponent, error] : envelope.largest) {
    const EnclosingTolerance found = with_bend(envelope, exponent);
    const double room = slack(envelope, found);
    if (room < least) {
      least = room;
      best = found;
    }
  }
  return {rounded_up(best.atol * factor), rounded_up(best.rtol * factor)};
}

}  // namespace gpuemu
