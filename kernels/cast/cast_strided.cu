// y = x in another type, for up to four axes, each side with strides of its own. A template that is
// compiled for a pair of types when it is first called: the program has its text, with that of the
// headers. Any one-dimensional grid and block.
#include "kernels/convert.cuh"
#include "kernels/strided.cuh"

namespace gpuemu_kernels {

template <typename From, typename To>
__global__ void cast_strided(const From* x, To* y, long long d0, long long d1, long long d2,
                             long long d3, long long x0, long long x1, long long x2, long long x3,
                             long long y0, long long y1, long long y2, long long y3) {
  const Extent extent{{d0, d1, d2, d3}};
  const Strides from{{x0, x1, x2, x3}}, to{{y0, y1, y2, y3}};
  const long long n = extent.count(), threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += threads) {
    long long index[4];
    unravel(i, extent, index);
    y[to.offset(index)] = convert<To>(x[from.offset(index)]);
  }
}

}  // namespace gpuemu_kernels
