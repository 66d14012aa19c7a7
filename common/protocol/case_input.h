// An input of a case that a client runs.
#pragma once

#include "common/tensor/tensor.h"

namespace gpuemu {

/// A packed tensor, and the strides that existing daemons report; these do not address its data.
struct CaseInput {
  Tensor tensor;
  Strides strides;
  bool operator==(const CaseInput&) const = default;
};

}  // namespace gpuemu
