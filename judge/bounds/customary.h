// What a customary test would accept: the defaults of torch.testing.assert_close, with the absolute
// part scaled by the magnitudes at hand, so that small results are not accepted for being small.
// Both parts grow with the root of the length of sums that the shapes allow, up to 4 times.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Relative and absolute part of torch.testing.assert_close for a float dtype.
struct CustomaryTolerance {
  double rtol = 0, atol = 0;
};
CustomaryTolerance customary_tolerance(DType dtype);

/// What a customary test allows for each element of one output of floats.
class Customary {
 public:
  /// REQUIRES: output and reference of equal shape.
  explicit Customary(const Comparison& comparison);

  /// What counts as one at `index`: the root mean square of the reference's row, or that of the
  /// inputs where it is larger, but of the inputs at most 1.
  double magnitude(size_t index) const;
  /// rtol |reference| + atol magnitude(index), both widened for long sums.
  double at(size_t index, double reference) const;
  /// Whether nothing was rounded: sums and products of whole numbers up to 2^24 are exact in
  /// float32. Where all inputs are whole numbers, and both values are, one that differs comes from
  /// another formula, such as a sum that lacks a term.
  bool is_exact(double reference, double computed) const;

 private:
  CustomaryTolerance tolerance_;
  bool inputs_are_whole_ = false;
  size_t row_size_ = 1;
  double inputs_ = 0;
  std::vector<double> rows_;
};

}  // namespace gpuemu
