// An input of a case that a client runs.
#pragma once

#include "common/tensor/tensor.h"

namespace gpuemu {

/// A packed tensor beside the strides that existing daemons name; they do not address its data.
struct CaseInput {
  Tensor tensor;
  Strides strides;
  bool operator==(const CaseInput&) const = default;
};

}  // namespace gpuemu
