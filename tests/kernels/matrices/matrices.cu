// Tensor cores in every type: the WMMA classes, mma.sync in PTX, and the copies that feed them.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace wmma = nvcuda::wmma;

// One warp per tile of c; a is m x k, b is k x n, both by rows.
template <typename In, typename Fragment, typename Sum, int kDepth>
__device__ void wmma_tiles(const In* a, const In* b, Sum* c, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, kDepth, Fragment, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, kDepth, Fragment, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, kDepth, Sum> sum;
  wmma::fill_fragment(sum, Sum(0.0f));
  for (int at = 0; at < k; at += kDepth) {
    wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + at, k);
    wmma::load_matrix_sync(right, b + at * n + blockIdx.x * 16, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_half(const __half* a, const __half* b, float* c, int n, int k) {
  wmma_tiles<__half, __half, float, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_half_sum(const __half* a, const __half* b, __half* c, int n, int k) {
  wmma_tiles<__half, __half, __half, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_bfloat(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
  wmma_tiles<__nv_bfloat16, __nv_bfloat16, float, 16>(a, b, c, n, k);
}
extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* c, int n, int k) {
  wmma_tiles<float, wmma::precision::tf32, float, 8>(a, b, c, n, k);
}
extern "C" __global__ void wmma_bytes(const signed char* a, const signed char* b, int* c, int n, int k) {
  wmma_tiles<signed char, signed char, int, 16>(a, b, c, n, k);
}

// mma.sync: a is 16 x k by rows, b is 8 x k, so that a lane's operands are words of neighbours. The block's index
// is the batch.
struct Lane {
  int group = threadIdx.x / 4, within = threadIdx.x % 4;
};

__device__ void store_tile(float* c, const float (&d)[4]) {
  const Lane lane;
  for (int i = 0; i < 4; ++i) c[blockIdx.x * 128 + (lane.group + i / 2 * 8) * 8 + lane.within * 2 + i % 2] = d[i];
}

#define MMA(shape, types, registers)                                                              \
  asm("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
      : "+" registers(d[0]), "+" registers(d[1]), "+" registers(d[2]), "+" registers(d[3])         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

// Four words of a row of a and two of a row of b, for k of 8 words.
__device__ void load_words(const unsigned* x, const unsigned* y, unsigned (&a)[4], unsigned (&b)[2], int words, int at) {
  const Lane lane;
  const unsigned* row = x + (blockIdx.x * 16 + lane.group) * words + at + lane.within;
  const unsigned* col = y + (blockIdx.x * 8 + lane.group) * words + at + lane.within;
  a[0] = row[0], a[1] = row[8 * words], a[2] = row[4], a[3] = row[8 * words + 4];
  b[0] = col[0], b[1] = col[4];
}

extern "C" __global__ void mma_half(const unsigned* x, const unsigned* y, float* c, int k) {
  unsigned a[4], b[2];
  float d[4] = {};
  for (int at = 0; at < k / 2; at += 8) {
    load_words(x, y, a, b, k / 2, at);
    MMA("m16n8k16", "f32.f16.f16.f32", "f");
  }
  store_tile(c, d);
}

extern "C" __global__ void mma_bfloat(const unsigned* x, const unsigned* y, float* c, int k) {
  unsigned a[4], b[2];
  float d[4] = {};
  for (int at = 0; at < k / 2; at += 8) {
    load_words(x, y, a, b, k / 2, at);
    MMA("m16n8k16", "f32.bf16.bf16.f32", "f");
  }
  store_tile(c, d);
}

extern "C" __global__ void mma_tf32(const unsigned* x, const unsigned* y, float* c, int k) {
  unsigned a[4], b[2];
  float d[4] = {};
  for (int at = 0; at < k; at += 8) {
    load_words(x, y, a, b, k, at);
    MMA("m16n8k8", "f32.tf32.tf32.f32", "f");
  }
  store_tile(c, d);
}

extern "C" __global__ void mma_fp8(const unsigned* x, const unsigned* y, float* c, int k) {
  unsigned a[4], b[2];
  float d[4] = {};
  for (int at = 0; at < k / 4; at += 8) {
    load_words(x, y, a, b, k / 4, at);
    for (unsigned& word : a) word &= 0xbfbfbfbf;  // Neither NaN nor large.
    for (unsigned& word : b) word &= 0xbfbfbfbf;
    MMA("m16n8k32", "f32.e4m3.e5m2.f32", "f");
  }
  store_tile(c, d);
}

extern "C" __global__ void mma_bytes(const unsigned* x, const unsigned* y, int* c, int k) {
  const Lane lane;
  unsigned a[4], b[2];
  int d[4] = {};
  for (int at = 0; at < k / 4; at += 8) {
    load_words(x, y, a, b, k / 4, at);
    MMA("m16n8k32", "s32.s8.u8.s32", "r");
  }
  for (int i = 0; i < 4; ++i) c[blockIdx.x * 128 + (lane.group + i / 2 * 8) * 8 + lane.within * 2 + i % 2] = d[i];
}

// Sums in half: two of them in a register.
extern "C" __global__ void mma_half_sum(const unsigned* x, const unsigned* y, unsigned* c, int k) {
  const Lane lane;
  unsigned a[4], b[2], d[2] = {};
  for (int at = 0; at < k / 2; at += 8) {
    load_words(x, y, a, b, k / 2, at);
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  for (int i = 0; i < 2; ++i) c[blockIdx.x * 64 + (lane.group + i * 8) * 4 + lane.within] = d[i];
}

// Doubles: a is 8 x k, b is 8 x k.
extern "C" __global__ void mma_double(const double* x, const double* y, double* c, int k) {
  const Lane lane;
  double d[2] = {};
  for (int at = 0; at < k; at += 4) {
    const double a = x[(blockIdx.x * 8 + lane.group) * k + at + lane.within];
    const double b = y[(blockIdx.x * 8 + lane.group) * k + at + lane.within];
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
  }
  for (int i = 0; i < 2; ++i) c[blockIdx.x * 64 + lane.group * 8 + lane.within * 2 + i] = d[i];
}

__device__ unsigned shared_address(const void* at) { return unsigned(__cvta_generic_to_shared(at)); }

// c = a b, 32 x 32 per block of four warps: asynchronous copies one step ahead, ldmatrix with and without .trans.
extern "C" __global__ void pipelined_product(const __half* a, const __half* b, float* c, int n, int k) {
  __shared__ __align__(16) __half left[2][32][24], right[2][16][40];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32, row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
  const auto fetch = [&](int step) {
    const int slot = step & 1, at = step * 16;
    const __half* from = t < 64 ? a + (row0 + t / 2) * k + at + t % 2 * 8 : b + (at + (t - 64) / 4) * n + col0 + t % 4 * 8;
    const __half* to = t < 64 ? &left[slot][t / 2][t % 2 * 8] : &right[slot][(t - 64) / 4][t % 4 * 8];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum[2][4] = {};
  fetch(0);
  for (int step = 0; step < k / 16; ++step) {
    if (step + 1 < k / 16) {
      fetch(step + 1);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    unsigned x[4], y[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(&left[step & 1][warp / 2 * 16 + lane % 16][lane / 16 * 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                 : "r"(shared_address(&right[step & 1][lane % 16][warp % 2 * 16 + lane / 16 * 8])) : "memory");
    for (int half = 0; half < 2; ++half)
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sum[half][0]), "+f"(sum[half][1]), "+f"(sum[half][2]), "+f"(sum[half][3])
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * half]), "r"(y[2 * half + 1]));
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 4; ++i) {
      const int row = row0 + warp / 2 * 16 + lane / 4 + i / 2 * 8;
      c[row * n + col0 + warp % 2 * 16 + half * 8 + lane % 4 * 2 + i % 2] = sum[half][i];
    }
}

// Four tiles of 8 x 8 turned in registers and stored by stmatrix.
extern "C" __global__ void turned_tiles(const __half* x, __half* y) {
  __shared__ __align__(16) __half in[256], out[256];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) in[i] = x[blockIdx.x * 256 + i];
  __syncwarp();
  unsigned r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(in + lane * 8)) : "memory");
  for (unsigned& word : r) asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(word));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(out + lane * 8)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  __syncwarp();
  for (int i = lane; i < 256; i += 32) y[blockIdx.x * 256 + i] = out[i];
}

// mma.sp: a holds half of the elements of a row, and e a byte for each chunk of a row, which says where they are.
__device__ unsigned positions_in_order(unsigned char choice) {
  constexpr unsigned kPositions[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  return kPositions[choice % 6];
}
__device__ unsigned positions_of_tf32(unsigned char choice) { return choice % 2 == 0 ? 0b0100 : 0b1110; }

// The metadata of a lane: four chunks of two rows, of which lanes 0 and 1 of four hold those of all eight.
template <typename Positions>
__device__ unsigned metadata_of_two_rows(const unsigned char* e, int chunks, int at, Positions positions) {
  const Lane lane;
  const unsigned char* row = e + (blockIdx.x * 16 + lane.group) * chunks + at + lane.within % 2 * 4;
  unsigned word = 0;
  for (int i = 0; i < 4; ++i) {
    word |= positions(row[i]) << 4 * i | positions(row[8 * chunks + i]) << (16 + 4 * i);
  }
  return word;
}
// Eight chunks of one row.
__device__ unsigned metadata_of_row(const unsigned char* e, int chunks, int at) {
  const Lane lane;
  const unsigned char* row = e + (blockIdx.x * 16 + lane.group + lane.within % 2 * 8) * chunks + at + lane.within / 2 * 8;
  unsigned word = 0;
  for (int i = 0; i < 8; ++i) word |= positions_in_order(row[i]) << 4 * i;
  return word;
}
// Eight words of a row of a and sixteen of a row of b, from which a row of a takes eight.
__device__ void load_sparse(const unsigned* x, const unsigned* y, unsigned (&a)[4], unsigned (&b)[4], int words, int at) {
  const Lane lane;
  const unsigned* row = x + (blockIdx.x * 16 + lane.group) * words + at + lane.within;
  const unsigned* col = y + ((blockIdx.x * 8 + lane.group) * words + at) * 2 + lane.within;
  a[0] = row[0], a[1] = row[8 * words], a[2] = row[4], a[3] = row[8 * words + 4];
  for (int i = 0; i < 4; ++i) b[i] = col[4 * i];
}

#define MMA_SPARSE(shape, types, registers)                                                                             \
  asm("mma.sp::ordered_metadata.sync.aligned." shape ".row.col." types                                                  \
      " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;"                                          \
      : "+" registers(d[0]), "+" registers(d[1]), "+" registers(d[2]), "+" registers(d[3])                              \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e))

extern "C" __global__ void sparse_half(const unsigned* x, const unsigned char* where, const unsigned* y, float* c, int k) {
  unsigned a[4], b[4];
  float d[4] = {};
  for (int at = 0; at < k / 32; ++at) {
    load_sparse(x, y, a, b, k / 4, at * 8);
    const unsigned e = metadata_of_two_rows(where, k / 4, at * 8, positions_in_order);
    MMA_SPARSE("m16n8k32", "f32.f16.f16.f32", "f");
  }
  store_tile(c, d);
}
extern "C" __global__ void sparse_bfloat(const unsigned* x, const unsigned char* where, const unsigned* y, float* c, int k) {
  unsigned a[4], b[4];
  float d[4] = {};
  for (int at = 0; at < k / 32; ++at) {
    load_sparse(x, y, a, b, k / 4, at * 8);
    const unsigned e = metadata_of_two_rows(where, k / 4, at * 8, positions_in_order);
    MMA_SPARSE("m16n8k32", "f32.bf16.bf16.f32", "f");
  }
  store_tile(c, d);
}
extern "C" __global__ void sparse_tf32(const unsigned* x, const unsigned char* where, const unsigned* y, float* c, int k) {
  unsigned a[4], b[4];
  float d[4] = {};
  for (int at = 0; at < k / 16; ++at) {
    load_sparse(x, y, a, b, k / 2, at * 8);
    const unsigned e = metadata_of_two_rows(where, k / 2, at * 8, positions_of_tf32);
    MMA_SPARSE("m16n8k16", "f32.tf32.tf32.f32", "f");
  }
  store_tile(c, d);
}
extern "C" __global__ void sparse_bytes(const unsigned* x, const unsigned char* where, const unsigned* y, int* c, int k) {
  const Lane lane;
  unsigned a[4], b[4];
  int d[4] = {};
  for (int at = 0; at < k / 64; ++at) {
    load_sparse(x, y, a, b, k / 8, at * 8);
    const unsigned e = metadata_of_row(where, k / 4, at * 16);
    MMA_SPARSE("m16n8k64", "s32.s8.u8.s32", "r");
  }
  for (int i = 0; i < 4; ++i) c[blockIdx.x * 128 + (lane.group + i / 2 * 8) * 8 + lane.within * 2 + i % 2] = d[i];
}
extern "C" __global__ void sparse_fp8(const unsigned* x, const unsigned char* where, const unsigned* y, float* c, int k) {
  unsigned a[4], b[4];
  float d[4] = {};
  for (int at = 0; at < k / 64; ++at) {
    load_sparse(x, y, a, b, k / 8, at * 8);
    for (unsigned& word : a) word &= 0xbfbfbfbf;  // Neither NaN nor large.
    for (unsigned& word : b) word &= 0xbfbfbfbf;
    const unsigned e = metadata_of_row(where, k / 4, at * 16);
    MMA_SPARSE("m16n8k64", "f32.e4m3.e5m2.f32", "f");
  }
  store_tile(c, d);
}
