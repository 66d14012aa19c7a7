// The tensors of a plan where they lie in the memory that worker, reference and daemon share.
#pragma once

#include "common/base/arena.h"
#include "common/tensor/tensor_view.h"

namespace gpuemu {

/// Packed elements in the shared memory. An error when it does not hold all of them.
Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset);

}  // namespace gpuemu
