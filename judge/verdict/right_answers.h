// Outputs with several right answers: indices of equal keys, and elements in any order.
#pragma once

#include <optional>
#include <vector>

#include "common/tensor/tensor.h"

namespace gpuemu {

struct Comparison;
struct TensorSpec;

/// A reference changed to another, equally right answer.
struct MatchedReference {
  Tensor tensor;
  std::vector<double> scale;  ///< Comparison::scale in the same order; empty if that is empty.
};

/// Returns the reference matched to the output as `spec` allows: indices of equal keys are equal
/// (indices_of), elements along the axis have no order (any_order). Nothing if no matching is
/// declared or the output has another shape. InvalidArgument if the keys do not fit the output.
Result<std::optional<MatchedReference>> matched_reference(const TensorSpec& spec,
                                                          const Comparison& comparison);

/// Returns whether every integer that differs from the reference selects, along the last axis of
/// one float input, an element that a float32 softmax may treat as equal to the expected one:
/// probabilities may be equal, or 0, although the scores differ. Exactly equal elements do not
/// count, since a kernel that selects another one uses another tie-breaking rule. But if one choice
/// of a line is close, choices of equal elements in it may shift with it. Counts are no choices:
/// the expected integers of such a line differ, and one is the place of an extreme element.
bool are_close_choices(const Comparison& comparison);

}  // namespace gpuemu
