// How large the errors of correct outputs are, by the magnitude of what they should be, and the
// tolerance that encloses them.
#pragma once

#include <cstdint>
#include <map>

namespace gpuemu {

struct Comparison;

struct ErrorRange {
  /// By the exponent e of references in [2^e, 2^(e + 1)): the largest |o - r|. Only of elements
  /// that are finite on both sides.
  std::map<int, double> largest;
  double largest_at_zero = 0;  ///< Where the reference is 0 or subnormal in float64.
  uint64_t elements = 0;

  void merge(const ErrorRange& other);
};

/// Adds every element. REQUIRES: output and reference of equal shape, the output a float.
void add_errors(const Comparison& comparison, ErrorRange& to);

struct EnclosingTolerance {
  double atol = 0, rtol = 0;
};
/// atol + rtol |r| that is at least `factor` times every error of the envelope, as tight as one
/// bend allows: above some magnitude the relative part encloses, below it the absolute one. Rounded
/// up to two digits.
EnclosingTolerance enclose(const ErrorRange& envelope, double factor);

}  // namespace gpuemu
