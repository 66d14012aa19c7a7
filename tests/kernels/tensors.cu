// Halves, asynchronous copies and tensor cores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void half_math(const __half2* x, __half2* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 v = x[i], e = h2exp(v);
  y[i] = __hfma2(v, __hgt2(v, __float2half2_rn(0.0f)), __hmin2(e, __float2half2_rn(1.0f)));
}

// One warp per 16 x 16 tile of c.
extern "C" __global__ void wmma_product(const __half* a, const __half* b, float* c, int n, int k) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + at, k);
    wmma::load_matrix_sync(right, b + at * n + blockIdx.x * 16, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

// c[16 x 8] = a[16 x 16] b[8 x 16]^T for each block, through shared memory and ldmatrix.
extern "C" __global__ void mma_product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  __shared__ __align__(16) __nv_bfloat16 left[256], right[128];
  const int lane = threadIdx.x, group = lane / 4, within = lane % 4;
  for (int i = lane; i < 256; i += 32) left[i] = a[blockIdx.x * 256 + i];
  for (int i = lane; i < 128; i += 32) right[i] = b[blockIdx.x * 128 + i];
  __syncwarp();
  const unsigned at = (unsigned)__cvta_generic_to_shared(left + lane % 16 * 16 + lane / 16 * 8);
  const unsigned bt = (unsigned)__cvta_generic_to_shared(right + lane % 8 * 16 + lane / 8 % 2 * 8);
  unsigned x[4], y[2];
  float d[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(y[0]), "=r"(y[1]) : "r"(bt) : "memory");
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(0.0f));
  float* out = c + blockIdx.x * 128;
  for (int i = 0; i < 4; ++i) out[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = d[i];
}

// Column sums of a tiles x 128 matrix; the next row is copied while one is added.
extern "C" __global__ void async_sums(const float* x, float* y, int rows) {
  __shared__ float s[2][128];
  const int t = threadIdx.x;
  const auto fetch = [&](int row) {
    const unsigned to = (unsigned)__cvta_generic_to_shared(&s[row & 1][t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + row * 128 + t) : "memory");
    asm volatile("cp.async.commit_group;");
  };
  fetch(0);
  float sum = 0.0f;
  for (int row = 0; row < rows; ++row) {
    if (row + 1 < rows) {
      fetch(row + 1);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    sum += s[row & 1][127 - t];
    __syncthreads();
  }
  y[127 - t] = sum;
}
