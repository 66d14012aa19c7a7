#include "daemon/case/arena_view.h"

namespace gpuemu {

Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(element_count(shape)) * byte_size(dtype);
  const auto range = GPUEMU_TRY(arena.range(offset, bytes));
  return TensorView{dtype, shape, range};
}

}  // namespace gpuemu
