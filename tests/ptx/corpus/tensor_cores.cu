// wmma fragments and inline mma, ldmatrix, cp.async.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

template <typename A, typename C, typename Out, int M, int N, int K, typename LayoutB>
__device__ void tile(const A* a, const A* b, Out* out) {
  wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, A, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::fill_fragment(fc, C(0));
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, K);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + C(1);
  wmma::store_matrix_sync(out, fc, N, wmma::mem_row_major);
}
extern "C" __global__ void wmma_half(const __half* a, const __half* b, float* out, __half* hout) {
  tile<__half, float, float, 16, 16, 16, wmma::col_major>(a, b, out);
  tile<__half, __half, __half, 32, 8, 16, wmma::row_major>(a, b, hout);
  tile<__half, float, float, 8, 32, 16, wmma::row_major>(a, b, out + 256);
}
extern "C" __global__ void wmma_bytes(const signed char* a, const signed char* b, int* out) {
  tile<signed char, int, int, 16, 16, 16, wmma::col_major>(a, b, out);
}
extern "C" __global__ void wmma_unsigned(const unsigned char* a, const unsigned char* b, int* out) {
  tile<unsigned char, int, int, 32, 8, 16, wmma::row_major>(a, b, out);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void wmma_bfloat(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out) {
  tile<__nv_bfloat16, float, float, 16, 16, 16, wmma::col_major>(a, b, out);
}
extern "C" __global__ void wmma_double(const double* a, const double* b, double* out) {
  tile<double, double, double, 8, 8, 4, wmma::col_major>(a, b, out);
}
extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 8);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(out, fc, 16, wmma::mem_col_major);
}
extern "C" __global__ void pipelined(const float4* in, float4* out) {
  __shared__ float4 stage[2][64];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&stage[1][threadIdx.x], in + 64 + threadIdx.x, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[threadIdx.x] = stage[0][63 - threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[64 + threadIdx.x] = stage[1][63 - threadIdx.x];
}
extern "C" __global__ void inline_mma(const __half* in, float* out) {
  __shared__ __align__(16) __half s[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = in[i];
  __syncwarp();
  unsigned a[4], b[2];
  const unsigned at = (unsigned)__cvta_generic_to_shared(s + (threadIdx.x % 16) * 16 + threadIdx.x / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(at));
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
#endif
