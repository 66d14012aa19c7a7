// Rows a stride apart, with a block whose size the program chooses; an activation that is a template.
#include <cuda_fp16.h>

namespace serving {

__device__ float sum_of_block(float value) {
  __shared__ float sums[32];
  for (int away = 16; away > 0; away /= 2) value += __shfl_xor_sync(0xffffffff, value, away);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float all = 0;
  for (int warp = 0; warp < (blockDim.x + 31) / 32; ++warp) all += sums[warp];
  return all;
}

template <typename scalar_t>
__global__ void strided_norm(scalar_t* __restrict__ out, const scalar_t* __restrict__ input, const long input_stride,
                             const scalar_t* __restrict__ weight, const float epsilon, const int num_tokens, const int hidden_size) {
  float squares = 0;
  for (int i = threadIdx.x; i < hidden_size; i += blockDim.x) {
    const float x = static_cast<float>(input[blockIdx.x * input_stride + i]);
    squares += x * x;
  }
  const float scale = rsqrtf(sum_of_block(squares) / hidden_size + epsilon);
  for (int i = threadIdx.x; i < hidden_size; i += blockDim.x) {
    const float x = static_cast<float>(input[blockIdx.x * input_stride + i]);
    out[blockIdx.x * hidden_size + i] = static_cast<scalar_t>(x * scale * static_cast<float>(weight[i]));
  }
}

template <typename T>
__device__ T silu(const T& x) {
  return x / (1.0f + expf(-x));
}

template <typename scalar_t, scalar_t (*ACT)(const scalar_t&)>
__global__ void act_and_mul(scalar_t* __restrict__ out, const scalar_t* __restrict__ input, const int d) {
  const long token = blockIdx.x;
  for (long i = threadIdx.x; i < d; i += blockDim.x) {
    out[token * d + i] = ACT(input[token * 2 * d + i]) * input[token * 2 * d + d + i];
  }
}

}  // namespace serving

void norm(float* out, const float* input, const float* weight, double epsilon, int num_tokens, int hidden_size, long input_stride) {
  dim3 grid(num_tokens);
  dim3 block(hidden_size < 1024 ? hidden_size : 1024);
  serving::strided_norm<float><<<grid, block>>>(out, input, input_stride, weight, epsilon, num_tokens, hidden_size);
}
void silu_and_mul(float* out, const float* input, int d, long num_tokens) {
  dim3 grid(num_tokens);
  dim3 block(d < 1024 ? d : 1024);
  serving::act_and_mul<float, serving::silu<float>><<<grid, block>>>(out, input, d);
}
