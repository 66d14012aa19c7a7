#include "daemon/case/arena_view.h"

namespace gpuemu {

Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset) {
  const uint64_t bytes = packed_bytes(dtype, shape);
  const auto range = GPUEMU_TRY(arena.range(offset, bytes));
  return TensorView{dtype, shape, range};
}

}  // namespace gpuemu
