#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>
template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) { return 1.0 / (1.0 + exp(-z)); }

template <typename scalar_t>
__global__ void lltm_cuda_forward_kernel(const scalar_t* __restrict__ gates, const scalar_t* __restrict__ old_cell,
                                         scalar_t* __restrict__ new_h, scalar_t* __restrict__ new_cell, size_t state_size) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= state_size) return;
  const size_t at = blockIdx.y * state_size + column;
  const size_t gate = blockIdx.y * (state_size * 3) + column;
  const scalar_t in = sigmoid(gates[gate]), out = sigmoid(gates[gate + state_size]);
  const scalar_t candidate = tanh(gates[gate + 2 * state_size]);
  new_cell[at] = old_cell[at] + candidate * in;
  new_h[at] = tanh(new_cell[at]) * out;
}
std::vector<torch::Tensor> lltm_cuda_forward(torch::Tensor gates, torch::Tensor old_cell) {
  auto new_cell = torch::zeros_like(old_cell);
  auto new_h = torch::zeros_like(old_cell);
  const auto batch_size = old_cell.size(0);
  const auto state_size = old_cell.size(1);
  const int threads = 1024;
  const dim3 blocks((state_size + threads - 1) / threads, batch_size);
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lltm_forward_cuda", ([&] {
    lltm_cuda_forward_kernel<scalar_t><<<blocks, threads>>>(gates.data_ptr<scalar_t>(), old_cell.data_ptr<scalar_t>(),
                                                            new_h.data_ptr<scalar_t>(), new_cell.data_ptr<scalar_t>(), state_size);
  }));
  return {new_h, new_cell};
}
