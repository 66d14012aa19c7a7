// Sum and maximum over a block: shuffles inside a warp, shared memory between warps. The block must be
// a multiple of 32 threads.
#pragma once

struct Sum {
  static constexpr float kIdentity = 0.0f;
  __device__ static float join(float a, float b) { return a + b; }
};
struct Max {
  static constexpr float kIdentity = -INFINITY;
  // Unlike fmaxf it keeps a NaN, so that a row with one is NaN.
  __device__ static float join(float a, float b) { return a != a || a > b ? a : b; }
};

template <typename Op>
__device__ float block_reduce(float value) {
  __shared__ float partial[32];
  for (int step = 16; step > 0; step /= 2) {
    value = Op::join(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = lane < warps ? partial[lane] : Op::kIdentity;
  for (int step = 16; step > 0; step /= 2) {
    value = Op::join(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  // The next reduction writes `partial` again.
  __syncthreads();
  return value;
}
