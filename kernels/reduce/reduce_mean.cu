// Means along one axis; kernels/reduce.cuh says how.
#include "kernels/reduce.cuh"

namespace gpuemu_kernels {

GPUEMU_REDUCE(reduce_mean, ReduceMean)

}  // namespace gpuemu_kernels
