// The largest allowed distance of an element from its reference: the configured tolerance, or the
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

/// The parts of the scale-aware bound that are the same for all elements.
struct BoundTerms {
  FloatFormat format;       ///< The output's format.
  double sum_factor = 0;    ///< K u_acc sqrt(n)
  double value_factor = 0;  ///< K u_acc
  double floor = 0;         ///< F (1 + X)
};

/// Returns whether the shapes fit the policy's named scale; otherwise `auto` is used.
bool scale_applies(const Comparison& comparison);

class ErrorBound {
 public:
  /// Requires output and reference of equal shape. The comparison must outlive the bound.
  explicit ErrorBound(const Comparison& comparison);

  /// Returns the bound at `index`, for the finite reference value there. Never NaN; infinite if the
  /// scale is not finite.
  double at(size_t index, double reference) const;
  /// Computes at() for the elements [first, first + references.size()). Requires equal sizes.
  void fill(size_t first, std::span<const double> references, std::span<double> bounds) const;

  /// Returns whether the bound is just atol + rtol |r|.
  bool plain() const { return !automatic_; }
  double atol() const { return atol_; }
  double rtol() const { return rtol_; }

 private:
  void take_scale(const Comparison& comparison, double magnitude);
  double row_maximum(size_t row) const;
  double scale_at(size_t index, double reference) const;
  /// Returns the scales of the references' elements: where they lie, or written to `scales`.
  std::span<const double> scales_of(size_t first, std::span<const double> references,
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
  /// Computed on first use, by any thread, when the row is in the cache. Empty if rows do not
  /// matter.
  mutable std::vector<std::atomic<double>> row_maxima_;
  // ... or per element.
  std::vector<double> per_element_;
};

}  // namespace gpuemu
