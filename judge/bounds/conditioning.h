// How exact a result can be at all: no formula does better than the last place of its inputs
// allows. What a kernel gives without rounding, or a reference, is computed once more on inputs
// that lie at a neighbour of their type; an error of no more than a few times what that makes of
// the result is no fault of the formula.
#pragma once

#include <cstdint>
#include <vector>

#include "common/tensor/tensor.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {

/// Limits on the draws of neighbouring inputs. More draws seldom help, except for elements that
/// stayed by chance or are nearly explained. Two scores that tie move together in every other draw:
/// what looks hopeless after few is not.
inline constexpr size_t kConditioningDrawsLeast = 2, kConditioningDrawsOfHope = 5,
                        kConditioningDrawsMost = 6, kConditioningDrawsForStill = 16;

/// The case that draws belong to.
struct DrawnFor {
  uint64_t base_seed = 0, iteration = 0;
};

/// The inputs at neighbours of their type: every finite float that is not 0 goes up or down. In
/// draw 0 in turn, so that differences of neighbours move, in others by chance of the case.
NamedTensors neighbours_of(const NamedTensors& inputs, DrawnFor drawn, uint64_t draw);

/// How many terms one element of the output may be a sum of where nothing says so: the longest axis
/// of an input, or the elements of one for each of the output.
double terms_of(const std::vector<Shape>& inputs, const Shape& output);

/// Errors that the conditioning of a result explains.
class Conditioning {
 public:
  /// For an output that is a sum of so many terms, or fewer. `narrow_inputs`: inputs of floats have
  /// 16 bits.
  Conditioning(DType output, double terms, bool narrow_inputs = false);

  const FloatFormat& format() const { return *format_; }
  bool is_narrow() const { return narrow_; }  ///< Less precise than float32.
  double terms() const { return terms_; }
  /// The error that is allowed of a result `value` that moves by `moved` with the last place of the
  /// inputs.
  double allowed(double moved, double value) const;

 private:
  const FloatFormat* format_;
  bool narrow_ = false;
  double terms_ = 1, times_ = 0, ulps_ = 0;
};

/// Whether more draws may explain the error: not when it is a hundred times as large as what the
/// first ones allow. NaN is beyond hope.
bool may_be_explained(double error, double allowed);

/// Whether one more draw, which changes all inputs in one direction, may explain the error.
/// Example: two tied scores among thousands move together or apart.
bool is_nearly_explained(double error, double allowed);

/// Whether an element that moved by `moved` stayed by chance where others of its output moved by up
/// to `largest`: of inputs of one magnitude every seventh sum of 32 terms does, one up and one
/// down.
bool stayed_by_chance(double moved, double largest);

}  // namespace gpuemu
