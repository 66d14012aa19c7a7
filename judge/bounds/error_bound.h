// How far an element may lie from its reference: the tolerance of the configuration, or the
// scale-aware bound
//   a ulp(r) + K u_acc (sqrt(n) S + |r|) + F (1 + X)      a = 1, K = 8
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "judge/bounds/comparison.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {

/// What the scale-aware bound has in common for all elements.
struct BoundTerms {
  FloatFormat format;       ///< The output's.
  double sum_factor = 0;    ///< K u_acc sqrt(n)
  double value_factor = 0;  ///< K u_acc
  double floor = 0;         ///< F (1 + X)
};

/// Whether the shapes are those that the policy's named scale is for; else `auto` stands in.
bool scale_applies(const Comparison& comparison);

class ErrorBound {
 public:
  /// REQUIRES: output and reference of equal shape; the comparison outlives the bound.
  explicit ErrorBound(const Comparison& comparison);

  /// Never NaN; infinite where the scale is not finite. `reference` is the finite value at `index`.
  double at(size_t index, double reference) const;
  /// at() for the elements [first, first + references.size()). REQUIRES: equal sizes.
  void fill(size_t first, std::span<const double> references, std::span<double> bounds) const;

  /// True when it is atol + rtol |r| and nothing else.
  bool plain() const { return !automatic_; }
  double atol() const { return atol_; }
  double rtol() const { return rtol_; }

 private:
  void take_scale(const Comparison& comparison, double magnitude);
  double row_maximum(size_t row) const;
  double scale_at(size_t index, double reference) const;
  void fill_scales(size_t first, std::span<const double> references,
                   std::span<double> scales) const;

  bool automatic_ = false;
  double atol_ = 0, rtol_ = 0;
  BoundTerms terms_;
  std::span<const double> given_;
  // S = multiplier |r| + addend + the largest finite |r| of the row (of row_size_ elements) ...
  double multiplier_ = 1;
  double addend_ = 0;
  TensorView reference_;
  size_t row_size_ = 1;
  /// Found when first asked for, by any thread: the row is in the cache then. Empty when no row
  /// matters.
  mutable std::vector<std::atomic<double>> row_maxima_;
  // ... or per element.
  std::vector<double> per_element_;
};

}  // namespace gpuemu
