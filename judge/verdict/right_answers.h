// Outputs with several right answers: indices of equal keys, and elements in any order.
#pragma once

#include <optional>
#include <vector>

#include "common/tensor/tensor.h"

namespace gpuemu {

struct Comparison;
struct TensorSpec;

/// A reference whose elements were changed for another answer that is as right.
struct MatchedReference {
  Tensor tensor;
  std::vector<double> scale;  ///< Comparison::scale in the same order; empty where that is.
};

/// The comparison's reference as `spec` allows it to be matched with the output: equal keys count
/// as equal indices (indices_of), elements along the axis have no order (any_order). Nothing where
/// the output is left as it is, or has another shape. InvalidArgument where the keys do not fit the
/// output.
Result<std::optional<MatchedReference>> matched_reference(const TensorSpec& spec,
                                                          const Comparison& comparison);

/// Whether every integer that differs from the reference chooses, along the last axis of one float
/// input, an element that a softmax in float32 can take for the expected one: probabilities may be
/// equal, or 0, where the scores that they are made of differ. Equal elements are no such
/// choice, since a kernel that takes another one of them breaks ties by another rule; but where one
/// of a line's choices is close, those of equal elements move with it.
bool are_close_choices(const Comparison& comparison);

}  // namespace gpuemu
