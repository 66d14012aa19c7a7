// The tolerance of a customary test: the defaults of torch.testing.assert_close, with the absolute
// part scaled by the magnitude of the data, so that small results are not accepted just for being
// small. Both parts grow with the square root of the length of possible sums, up to 4 times.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// The relative and absolute tolerance of torch.testing.assert_close for a float dtype.
struct CustomaryTolerance {
  double rtol = 0, atol = 0;
};
CustomaryTolerance customary_tolerance(DType dtype);

/// What a customary test allows for each element of a float output.
class Customary {
 public:
  /// Requires output and reference of equal shape.
  explicit Customary(const Comparison& comparison);

  /// Returns the magnitude that counts as 1 at `index`: the root mean square of the reference's
  /// row, or that of the inputs (at most 1) if it is larger.
  double magnitude(size_t index) const;
  /// Returns rtol |reference| + atol magnitude(index), both widened for long sums.
  double at(size_t index, double reference) const;
  /// Returns whether both values are whole numbers up to 2^24 computed from whole inputs. Sums and
  /// products of such numbers are exact in float32, so a difference comes from another formula,
  /// such as a missing term.
  bool is_exact(double reference, double computed) const;

 private:
  CustomaryTolerance tolerance_;
  bool inputs_are_whole_ = false;
  size_t row_size_ = 1;
  double inputs_ = 0;
  std::vector<double> rows_;
};

}  // namespace gpuemu
