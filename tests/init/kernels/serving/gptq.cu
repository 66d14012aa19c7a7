#include <cuda_fp16.h>
#include <cstdint>
// Eight weights of four bits in each word; a scale for each group of rows and each column.
__global__ void dequantize_gptq(const uint32_t* qweight, const float* scales, const int* group_of_row, float* out, int columns) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row8 = blockIdx.y;
  if (col >= columns) return;
  const uint32_t packed = qweight[row8 * columns + col];
  for (int j = 0; j < 8; ++j) {
    const int row = row8 * 8 + j, q = (int)((packed >> (4 * j)) & 0xF) - 8;
    out[row * columns + col] = scales[group_of_row[row] * columns + col] * (float)q;
  }
}
__global__ void matvec_gptq(const float* __restrict__ vec, const int* __restrict__ mat, float* __restrict__ mul,
                            const float* __restrict__ scales, int height, int width) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= width) return;
  float sum = 0.0f;
  for (int row8 = 0; row8 < height; ++row8) {
    const unsigned packed = (unsigned)mat[row8 * width + col];
    for (int j = 0; j < 8; ++j) sum += scales[col] * (float)((int)((packed >> (4 * j)) & 0xF) - 8) * vec[row8 * 8 + j];
  }
  mul[col] = sum;
}
