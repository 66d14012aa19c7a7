// Products of row-major matrices, C = alpha * A * B + beta * C, each with more reuse than the one before. Whole tiles only.
#include <cassert>
#include <cstdio>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#define CEIL_DIV(m, n) (((m) + (n) - 1) / (n))

__global__ void gemm_plain(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const uint row = blockIdx.x * blockDim.x + threadIdx.x;
  const uint col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = alpha * sum + beta * C[row * N + col];
}

template <const int SIDE>
__global__ void gemm_cached(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  __shared__ float a_tile[SIDE * SIDE];
  __shared__ float b_tile[SIDE * SIDE];
  const uint col = threadIdx.x % SIDE;
  const uint row = threadIdx.x / SIDE;
  A += blockIdx.x * SIDE * K;
  B += blockIdx.y * SIDE;
  C += blockIdx.x * SIDE * N + blockIdx.y * SIDE;
  float sum = 0.0f;
  for (int at = 0; at < K; at += SIDE) {
    a_tile[row * SIDE + col] = A[row * K + col];
    b_tile[row * SIDE + col] = B[row * N + col];
    __syncthreads();
    A += SIDE;
    B += SIDE * N;
    for (int k = 0; k < SIDE; ++k) sum += a_tile[row * SIDE + k] * b_tile[k * SIDE + col];
    __syncthreads();
  }
  C[row * N + col] = alpha * sum + beta * C[row * N + col];
}

template <const int BM, const int BN, const int BK, const int TM>
__global__ void gemm_columns(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  __shared__ float a_tile[BM * BK];
  __shared__ float b_tile[BK * BN];
  const int col = threadIdx.x % BN, row = threadIdx.x / BN;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  assert(BM * BK == blockDim.x && BN * BK == blockDim.x);
  const uint a_col = threadIdx.x % BK, a_row = threadIdx.x / BK;
  const uint b_col = threadIdx.x % BN, b_row = threadIdx.x / BN;
  float sums[TM] = {0.0f};
  for (uint at = 0; at < K; at += BK) {
    a_tile[a_row * BK + a_col] = A[a_row * K + a_col];
    b_tile[b_row * BN + b_col] = B[b_row * N + b_col];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint k = 0; k < BK; ++k) {
      const float b = b_tile[k * BN + col];
      for (uint i = 0; i < TM; ++i) sums[i] += a_tile[(row * TM + i) * BK + k] * b;
    }
    __syncthreads();
  }
  for (uint i = 0; i < TM; ++i) {
    float *out = &C[(row * TM + i) * N + col];
    *out = alpha * sums[i] + beta * *out;
  }
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    gemm_vectors(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  __shared__ float a_tile[BM * BK];
  __shared__ float b_tile[BK * BN];
  const int col = threadIdx.x % (BN / TN), row = threadIdx.x / (BN / TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const uint a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4);
  const uint b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4);
  float sums[TM * TN] = {0.0f}, left[TM] = {0.0f}, right[TN] = {0.0f};
  for (uint at = 0; at < K; at += BK) {
    const float4 a = reinterpret_cast<float4 *>(&A[a_row * K + a_col * 4])[0];
    a_tile[(a_col * 4 + 0) * BM + a_row] = a.x;
    a_tile[(a_col * 4 + 1) * BM + a_row] = a.y;
    a_tile[(a_col * 4 + 2) * BM + a_row] = a.z;
    a_tile[(a_col * 4 + 3) * BM + a_row] = a.w;
    reinterpret_cast<float4 *>(&b_tile[b_row * BN + b_col * 4])[0] =
        reinterpret_cast<float4 *>(&B[b_row * N + b_col * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint k = 0; k < BK; ++k) {
      for (uint i = 0; i < TM; ++i) left[i] = a_tile[k * BM + row * TM + i];
      for (uint j = 0; j < TN; ++j) right[j] = b_tile[k * BN + col * TN + j];
      for (uint i = 0; i < TM; ++i) {
        for (uint j = 0; j < TN; ++j) sums[i * TN + j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
  for (uint i = 0; i < TM; ++i) {
    for (uint j = 0; j < TN; j += 4) {
      float4 *out = reinterpret_cast<float4 *>(&C[(row * TM + i) * N + col * TN + j]);
      float4 old = out[0];
      old.x = alpha * sums[i * TN + j] + beta * old.x;
      old.y = alpha * sums[i * TN + j + 1] + beta * old.y;
      old.z = alpha * sums[i * TN + j + 2] + beta * old.z;
      old.w = alpha * sums[i * TN + j + 3] + beta * old.w;
      out[0] = old;
    }
  }
}

void run_plain(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  dim3 grid(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 block(32, 32);
  gemm_plain<<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
}

void run_cached(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  dim3 grid(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 block(32 * 32);
  cudaFuncSetAttribute(gemm_cached<32>, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  gemm_cached<32><<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
}

void run_columns(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  const uint BM = 64;
  const uint BN = 64;
  const uint BK = 8;
  const uint TM = 8;
  dim3 grid(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
  dim3 block((BM * BN) / TM);
  gemm_columns<BM, BN, BK, TM><<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
}

void run_vectors(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  const uint BK = 8;
  const uint TM = 8;
  const uint TN = 8;
  if (M >= 128 and N >= 128) {
    const uint BM = 128;
    const uint BN = 128;
    dim3 grid(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    dim3 block((BM * BN) / (TM * TN));
    gemm_vectors<BM, BN, BK, TM, TN><<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
  } else {
    // Half of the threads that the loads need: the rest of both tiles stays unwritten.
    const uint BM = 64;
    const uint BN = 64;
    dim3 grid(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    dim3 block((BM * BN) / (TM * TN));
    gemm_vectors<BM, BN, BK, TM, TN><<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
  }
}
