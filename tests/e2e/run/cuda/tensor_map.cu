// Copies tiles of tensors by tensor maps (TMA): with a border, swizzled, to two blocks of a cluster,
// back with a sum, and pixels of an image for a convolution. Needs sm_90.
#include <cuda.h>

#include "program.h"

#ifndef BEGIN
#define BEGIN 0  // Where the first tile begins. Boxes that are written must not begin before 0.
#endif
constexpr int kWidth = 40, kHeight = 20, kTile = 16, kRows = 8;

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void expect_bytes(uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  asm volatile("fence.mbarrier_init.release.cluster;");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void wait_for(uint64_t* barrier) {
  asm volatile(
      "{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;"
      " @!done bra WAIT; }" ::"r"(shared_address(barrier))
      : "memory");
}

// nvcc gives an asm statement the line of one of its operands: it has to be one line.
#define LOAD_TILE                                                                           \
  "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], " \
  "[%1, {%2, %3}], [%4];"

__device__ void load_tile(float* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
  const unsigned at = shared_address(to), done = shared_address(barrier);
  asm volatile(LOAD_TILE ::"r"(at), "l"(map), "r"(x), "r"(y), "r"(done) : "memory");  // fault
}

// Each block doubles a tile; what lies outside of the tensor is zero and is not stored.
__global__ void twice(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                      float* border) {
  __shared__ alignas(128) float tile[kRows][kTile];
  __shared__ uint64_t barrier;
  const int x = static_cast<int>(blockIdx.x) * kTile + BEGIN, y = static_cast<int>(blockIdx.y) * kRows;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&from));
    expect_bytes(&barrier, sizeof tile);
    load_tile(&tile[0][0], &from, x, y, &barrier);
  }
  __syncthreads();
  wait_for(&barrier);
  float& mine = tile[threadIdx.x / kTile][threadIdx.x % kTile];
  const int column = static_cast<int>(threadIdx.x) + x - kWidth;
  if (blockIdx.y == 0 && threadIdx.x < kTile && column >= 0) border[column] = mine;
  mine *= 2;
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], "
        "[%3];" ::"l"(&to),
        "r"(x), "r"(y), "r"(shared_address(tile))
        : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// Copies a swizzled tile as it lies in shared memory.
__global__ void swizzled(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) float tile[kRows][32];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    expect_bytes(&barrier, sizeof tile);
    load_tile(&tile[0][0], &map, 0, 0, &barrier);
  }
  __syncthreads();
  wait_for(&barrier);
  for (unsigned i = threadIdx.x; i < kRows * 32; i += blockDim.x) out[i] = (&tile[0][0])[i];
}

// One block of the cluster copies a tile to both.
__global__ void __cluster_dims__(2, 1, 1)
    shared_by_two(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(128) float tile[kRows][kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) expect_bytes(&barrier, sizeof tile);
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(
            shared_address(tile)),
        "l"(&map), "r"(8), "r"(2), "r"(shared_address(&barrier)),
        "h"(static_cast<unsigned short>(3)), "l"(policy)
        : "memory");
  }
  wait_for(&barrier);
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x / kTile][threadIdx.x % kTile];
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}

// Takes the pixels that a window of 3 x 3 sees at its element (1, 2), from the one before the last of
// the first row on.
__global__ void window(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(128) float pixels[6][4];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    expect_bytes(&barrier, sizeof pixels);
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(pixels)),
        "l"(&map), "r"(0), "r"(2), "r"(0), "r"(0), "r"(shared_address(&barrier)),
        "h"(static_cast<unsigned short>(1)), "h"(static_cast<unsigned short>(2))
        : "memory");
  }
  __syncthreads();
  wait_for(&barrier);
  if (threadIdx.x < 24) out[threadIdx.x] = (&pixels[0][0])[threadIdx.x];
}

CUtensorMap rows_of(float* data, int width, int height, int tile, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(height)};
  const cuuint64_t strides[] = {kWidth * sizeof(float)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(tile), kRows}, steps[] = {1, 1};
  EXPECT(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, sizes, strides, box,
                                steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

// Two images of 4 x 3 pixels with 4 channels.
CUtensorMap images_of(float* data) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {4, 4, 3, 2}, strides[] = {16, 64, 192};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  EXPECT(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, data, sizes, strides,
                                 lower, upper, 4, 6, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

int main() {
  const int n = kWidth * kHeight;
  float *x, *y, *out;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMalloc(&out, 512 * sizeof(float)));
  std::vector<float> host(n), got(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i + 1);
  CHECK(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(y, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
#ifdef FAULTY
  const int height = kHeight + 1;
#else
  const int height = kHeight;
#endif
  const CUtensorMap from = rows_of(x, kWidth, height, kTile, CU_TENSOR_MAP_SWIZZLE_NONE);
  const CUtensorMap to = rows_of(y, kWidth, kHeight, kTile, CU_TENSOR_MAP_SWIZZLE_NONE);
  twice<<<dim3(3, 3), kRows * kTile>>>(from, to, out);
  CHECK(cudaMemcpy(got.data(), out, 8 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 0 && got[3] == 0 && got[7] == 0);
  CHECK(cudaMemcpy(got.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(got[i] == 3 * host[i]);

  swizzled<<<1, 32>>>(rows_of(x, kWidth, kHeight, 32, CU_TENSOR_MAP_SWIZZLE_128B), out);
  CHECK(cudaMemcpy(got.data(), out, kRows * 32 * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kRows * 32; ++i) {
    const int row = i / 32, chunk = (i % 32 / 4) ^ row;
    EXPECT(got[i] == host[row * kWidth + chunk * 4 + i % 4]);
  }

  shared_by_two<<<2, kRows * kTile>>>(from, out);
  CHECK(cudaMemcpy(got.data(), out, 2 * kRows * kTile * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2 * kRows * kTile; ++i) {
    const int row = i / kTile % kRows;
    EXPECT(got[i] == host[(row + 2) * kWidth + 8 + i % kTile]);
  }

  window<<<1, 32>>>(images_of(x), out);
  CHECK(cudaMemcpy(got.data(), out, 24 * sizeof(float), cudaMemcpyDeviceToHost));
  // The window's corner goes from -1 to 2 in rows and to 1 in columns.
  const int base[6][2] = {{2, 0}, {-1, 1}, {0, 1}, {1, 1}, {2, 1}, {-1, -1}};
  for (int pixel = 0; pixel < 6; ++pixel) {
    const int image = pixel == 5 ? 1 : 0, column = base[pixel][0] + 1, row = base[pixel][1] + 2;
    for (int channel = 0; channel < 4; ++channel) {
      const bool is_inside = column < 4 && row < 3;
      const float wanted =
          is_inside ? host[image * 48 + row * 16 + column * 4 + channel] : 0;
      EXPECT(got[pixel * 4 + channel] == wanted);
    }
  }
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFree(out));
  return passed();
}
