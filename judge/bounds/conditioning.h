// Measures how exact a result can be: no formula is more exact than the last place of its inputs
// allows. The exact result, or a reference, is computed again on inputs moved to a neighbour in
// their type. An error of at most a few times the resulting change is not the formula's fault.
#pragma once

#include <cstdint>
#include <vector>

#include "common/tensor/tensor.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {

/// Limits on the draws of neighbouring inputs. More draws rarely help, except for elements that did
/// not move by chance or are nearly explained. Two tied scores move together in every other draw,
/// so a few draws may make them look inexplicable.
inline constexpr size_t kConditioningDrawsLeast = 2, kConditioningDrawsOfHope = 5,
                        kConditioningDrawsMost = 6, kConditioningDrawsForStill = 16;

/// The case that draws belong to.
struct DrawnFor {
  uint64_t base_seed = 0, iteration = 0;
};

/// Moves the inputs to neighbours in their type: every finite float other than 0 goes up or down.
/// In draw 0 alternately, so that differences of adjacent elements move; in other draws randomly.
NamedTensors neighbours_of(const NamedTensors& inputs, DrawnFor drawn, uint64_t draw);

/// Returns how many terms an element of the output may be a sum of, if that is not declared: the
/// length of the longest input axis, or an input's elements per element of the output.
double terms_of(const std::vector<Shape>& inputs, const Shape& output);

/// Decides which errors the conditioning of a result explains.
class Conditioning {
 public:
  /// For an output that is a sum of at most `terms` terms. `narrow_inputs`: float inputs have 16
  /// bits.
  Conditioning(DType output, double terms, bool narrow_inputs = false);

  const FloatFormat& format() const { return *format_; }
  bool is_narrow() const { return narrow_; }  ///< Less precise than float32.
  double terms() const { return terms_; }
  /// Returns the allowed error of a result `value` that moves by `moved` with the last place of the
  /// inputs.
  double allowed(double moved, double value) const;

 private:
  const FloatFormat* format_;
  bool narrow_ = false;
  double terms_ = 1, times_ = 0, ulps_ = 0;
};

/// Returns whether more draws may explain the error: not if it is a hundred times what the first
/// ones allow, or NaN.
bool may_be_explained(double error, double allowed);

/// Returns whether one more draw, which changes all inputs in one direction, may explain the error.
/// Example: two tied scores among thousands move together or apart.
bool is_nearly_explained(double error, double allowed);

/// Returns whether an element that moved by `moved` stayed in place by chance, although others of
/// its output moved by up to `largest`. For inputs of equal magnitude this happens to every seventh
/// sum of 32 terms: moves up and down cancel.
bool stayed_by_chance(double moved, double largest);

}  // namespace gpuemu
