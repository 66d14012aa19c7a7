#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

__global__ void vectorAdd(const float* A, const float* B, float* C, int numElements) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < numElements) C[i] = A[i] + B[i] + 0.0f;
}

int main() {
  const int numElements = 50000;
  std::vector<float> host(numElements);
  float *a, *b, *c;
  cudaMalloc(&a, numElements * sizeof(float));
  cudaMalloc(&b, numElements * sizeof(float));
  cudaMalloc(&c, numElements * sizeof(float));
  int threadsPerBlock = 256;
  int blocksPerGrid = (numElements + threadsPerBlock - 1) / threadsPerBlock;
  vectorAdd<<<blocksPerGrid, threadsPerBlock>>>(a, b, c, numElements);
  if (cudaGetLastError() != cudaSuccess) { fprintf(stderr, "launch failed\n"); exit(EXIT_FAILURE); }
  printf("done\n");
  return 0;
}
