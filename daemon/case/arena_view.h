// Views of a plan's tensors in the memory that worker, reference and daemon share.
#pragma once

#include "common/base/arena.h"
#include "common/tensor/tensor_view.h"

namespace gpuemu {

/// Returns a view of packed elements in the shared memory. An error if the arena does not contain
/// all of them.
Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset);

}  // namespace gpuemu
