// Faults of copies beside the kernel and of tensor cores. Each kernel is wrong unless FIXED is defined;
// test_faults.py says how the comments read.
#include <cuda/barrier>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif
using namespace nvcuda;

// run: last_stage_not_awaited grid=1 block=64 args=buf:x:2048,zero:y:256
// expect: race_async text='stage'[
extern "C" __global__ void last_stage_not_awaited(const float* x, float* y) {
  __shared__ float stage[2][64];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], x + threadIdx.x, 4);
  __pipeline_commit();
  float sum = 0.0f;
  for (int tile = 0; tile < 8; ++tile) {
    if (tile < 7) {
      __pipeline_memcpy_async(&stage[(tile + 1) & 1][threadIdx.x], x + (tile + 1) * 64 + threadIdx.x, 4);  // OTHER
      __pipeline_commit();
    }
    if (WRONG(true, tile < 7))
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(0);
    __syncthreads();
    sum += stage[tile & 1][threadIdx.x];  // FAULT
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// The consumers never tell that they have read the tile: the wait of the third one, with its pauses
// that follow a clock, has no end.
// run: stage_not_given_back grid=1 block=64 args=buf:x:1024,zero:y:128
// expect: deadlock text=needs~32~arrivals
extern "C" __global__ void stage_not_given_back(const float* x, float* y) {
  __shared__ float stage[2][32];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) init(&full[i], 64), init(&empty[i], 64);
  __syncthreads();
  const int lane = threadIdx.x & 31;
  float sum = 0.0f;
  for (int tile = 0; tile < 8; ++tile) {
    const int at = tile & 1;
    if (threadIdx.x < 32) {
      if (tile > 1) empty[at].arrive_and_wait();
      stage[at][lane] = x[tile * 32 + lane];
      (void)full[at].arrive();
    } else {
      full[at].arrive_and_wait();
      sum += stage[at][31 - lane];
      if (WRONG(false, tile < 6)) (void)empty[at].arrive();
    }
  }
  if (threadIdx.x >= 32) y[lane] = sum;
}

// run: stage_overwritten grid=1 block=64 args=buf:x:2048,zero:y:256
// expect: race_shared text='stage'[
extern "C" __global__ void stage_overwritten(const float* x, float* y) {
  __shared__ float stage[2][64];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], x + threadIdx.x, 4);
  __pipeline_commit();
  float sum = 0.0f;
  for (int tile = 0; tile < 8; ++tile) {
    if (tile < 7)
      __pipeline_memcpy_async(&stage[(tile + 1) & 1][threadIdx.x], x + (tile + 1) * 64 + threadIdx.x, 4);  // FAULT
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += stage[tile & 1][63 - threadIdx.x];  // OTHER
    WRONG((void)0, __syncthreads());
  }
  y[threadIdx.x] = sum;
}

// run: copy_of_what_changes grid=2 block=64 args=buf:x:512,zero:y:512
// expect: race_global tensor=x
extern "C" __global__ void copy_of_what_changes(float* x, float* y) {
  __shared__ float tile[64];
  const int mine = blockIdx.x * 64 + threadIdx.x, other = (1 - blockIdx.x) * 64 + threadIdx.x;
  __pipeline_memcpy_async(&tile[threadIdx.x], x + WRONG(other, mine), 4);  // OTHER
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[mine] = tile[threadIdx.x];
  x[mine] = y[mine] + 1.0f;  // FAULT
}

// run: copy_of_nothing grid=1 block=64 args=raw:x:256,zero:y:256
// expect: uninitialized text='tile'[32]
extern "C" __global__ void copy_of_nothing(float* x, float* y) {
  __shared__ float tile[64];
  if (threadIdx.x < WRONG(32, 64)) x[threadIdx.x] = 1.0f;
  __syncthreads();
  __pipeline_memcpy_async(&tile[threadIdx.x], x + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = tile[threadIdx.x];  // FAULT
}

// run: fragment_without_barrier grid=1 block=64 args=zero:x:512,zero:y:1024
// expect: race_shared text='tile'[
extern "C" __global__ void fragment_without_barrier(const __half* x, float* y) {
  __shared__ __align__(32) __half tile[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  for (int i = threadIdx.x; i < 256; i += 64) tile[i] = __hadd(x[i], __float2half(1.0f + i));  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  wmma::load_matrix_sync(a, tile, 16);  // FAULT
  wmma::fill_fragment(b, __float2half(1.0f));
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, b, c);
  if (threadIdx.x < 32) wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}

// Each lane fills elements as it comes, and the tile is loaded by all of them.
// run: fragment_without_syncwarp grid=1 block=32 args=buf:x:512,zero:y:1024
// expect: race_warp text='tile'[
extern "C" __global__ void fragment_without_syncwarp(const __half* x, float* y) {
  __shared__ __align__(32) __half tile[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(b, __float2half(1.0f));
  wmma::fill_fragment(c, 0.0f);
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[i];  // OTHER
  WRONG((void)0, __syncwarp());
  wmma::load_matrix_sync(a, tile, 16);  // FAULT
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}

// run: lanes_read_what_a_fragment_stored grid=1 block=32 args=zero:y:1024
// expect: race_warp text='tile'[
extern "C" __global__ void lanes_read_what_a_fragment_stored(float* y) {
  __shared__ __align__(32) float tile[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 1.0f);
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // OTHER
  WRONG((void)0, __syncwarp());
  for (int i = threadIdx.x; i < 256; i += 32) y[i] = tile[i];  // FAULT
}

// run: split_k_without_atomics grid=4 block=32 args=one:x:512,zero:y:1024
// expect: race_global tensor=y
extern "C" __global__ void split_k_without_atomics(const __half* x, float* y) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  float* const out = y + WRONG(0, 64 * blockIdx.x);
  wmma::load_matrix_sync(a, x, 16);
  wmma::fill_fragment(b, __float2half(1.0f + blockIdx.x));
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, b, c);
#ifdef FIXED
  for (int i = 0; i < c.num_elements; ++i) atomicAdd(y + threadIdx.x * 8 + i, c.x[i]);
#else
  wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);  // FAULT
#endif
}
