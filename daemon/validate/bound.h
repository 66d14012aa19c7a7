// How far an element may lie from its reference: the tolerance of the configuration, or the
// scale-aware bound
//   a ulp(r) + K u_acc (sqrt(n) S + |r|) + F (1 + X)      a = 1, K = 8
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/validate/validate.h"

namespace gpuemu {

class Bound {
 public:
  /// REQUIRES: output and reference of equal shape; the comparison outlives the bound.
  explicit Bound(const Comparison& comparison);

  /// Never NaN; infinite where the scale is not finite. `reference` is the finite value at `index`.
  double at(size_t index, double reference) const;

  /// True when it is atol + rtol |r| and nothing else.
  bool plain() const { return !automatic_; }
  double atol() const { return atol_; }
  double rtol() const { return rtol_; }

 private:
  double scale_at(size_t index, double reference) const;

  bool automatic_ = false;
  double atol_ = 0, rtol_ = 0;
  DType dtype_ = DType::Float32;
  double sum_factor_ = 0;    // K u_acc sqrt(n)
  double value_factor_ = 0;  // K u_acc
  double floor_ = 0;         // F (1 + X)
  std::span<const double> given_;
  // S = multiplier |r| + addend, both per row (of row_size_ elements) where they differ by row ...
  double multiplier_ = 1;
  double addend_ = 0;
  std::vector<double> row_addend_;
  size_t row_size_ = 1;
  // ... or per element.
  std::vector<double> per_element_;
};

}  // namespace gpuemu
