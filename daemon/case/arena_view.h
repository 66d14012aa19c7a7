// The tensors of a plan where they lie in the memory that worker, reference and daemon share.
#pragma once

#include "common/base/arena.h"
#include "daemon/worker/plan.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Whether the kernel and the reference read the tensor's values.
bool is_read(const PlanTensor& tensor);

/// Packed elements in the shared memory. An error when it does not hold all of them.
Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset);

}  // namespace gpuemu
