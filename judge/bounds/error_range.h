// The largest errors of correct outputs by the magnitude of their references, and the tightest
// tolerance that encloses them.
#pragma once

#include <cstdint>
#include <map>

namespace gpuemu {

struct Comparison;

struct ErrorRange {
  /// The largest |o - r| by the exponent e of references in [2^e, 2^(e + 1)). Only elements that
  /// are finite on both sides.
  std::map<int, double> largest;
  double largest_at_zero = 0;  ///< For references that are 0, or subnormal in float64.
  uint64_t elements = 0;

  void merge(const ErrorRange& other);
};

/// Adds every element. Requires equal shapes and a float output.
void add_errors(const Comparison& comparison, ErrorRange& to);

struct EnclosingTolerance {
  double atol = 0, rtol = 0;
};
/// Finds atol + rtol |r| that is at least `factor` times every error. It is as tight as one bend
/// allows: the relative part covers magnitudes above the bend, the absolute part those below.
/// Rounded up to two digits.
EnclosingTolerance enclose(const ErrorRange& envelope, double factor);

}  // namespace gpuemu
