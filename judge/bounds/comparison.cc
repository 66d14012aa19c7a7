#include "judge/bounds/comparison.h"

namespace gpuemu {

TensorView view_of(const Tensor& tensor) { return {tensor.dtype, tensor.shape, tensor.data}; }

}  // namespace gpuemu
