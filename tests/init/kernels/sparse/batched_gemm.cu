#include <cuda_bf16.h>
__global__ void batched_gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int batch, int M, int N, int K) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, b = blockIdx.z;
  if (row >= M || col >= N || b >= batch) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += __bfloat162float(A[(b * M + row) * K + k]) * __bfloat162float(B[(b * K + k) * N + col]);
  C[(b * M + row) * N + col] = sum;
}
void run(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int batch, int M, int N, int K) {
  batched_gemm<<<dim3((N + 15) / 16, (M + 15) / 16, batch), dim3(16, 16)>>>(A, B, C, batch, M, N, K);
}
