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

}  // namespace gpuemu
