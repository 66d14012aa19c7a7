// Loads tiles whose last rows and columns nobody has written, scales them, and leaves them in
// memory that the host never reads; copies of structures and buffers carry what nobody wrote along.
#include "program.h"

struct Pair {
  char tag;  // Three bytes of padding follow.
  int value;
};

__global__ void scale_tile(const float* tile, float* scratch, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  scratch[y * pitch + x] = 2 * tile[y * pitch + x];  // fault
}

__global__ void add_tile(const float* scratch, float* sums, int pitch, int width) {
  __shared__ float row[64];
  row[threadIdx.x] = scratch[blockIdx.x * pitch + threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int x = 0; x < width; ++x) sum += row[x];
  sums[blockIdx.x] = sum;
}

__global__ void move(const Pair* from, Pair* to, const uint4* words, uint4* copies) {
  to[threadIdx.x] = from[threadIdx.x];
  copies[threadIdx.x] = words[threadIdx.x];
}

__global__ void count(int* cells, const int* values) {
  atomicAdd(&cells[threadIdx.x], values[threadIdx.x]);  // Cells 8 and up nobody has cleared.
}

int main() {
  const int pitch = 64, width = 50, height = 4;
  std::vector<float> host(pitch * height), back(pitch * height), sums(height);
  for (int i = 0; i < pitch * height; ++i) host[i] = i % pitch;
  float *tile, *scratch, *copy, *dsums;
  CHECK(cudaMalloc(&tile, host.size() * sizeof(float)));
  CHECK(cudaMalloc(&scratch, host.size() * sizeof(float)));
  CHECK(cudaMalloc(&copy, host.size() * sizeof(float)));
  CHECK(cudaMalloc(&dsums, height * sizeof(float)));
  CHECK(cudaMemcpy2D(tile, pitch * sizeof(float), host.data(), pitch * sizeof(float),
                     width * sizeof(float), height, cudaMemcpyHostToDevice));
  scale_tile<<<dim3(1, height), pitch>>>(tile, scratch, pitch);  // launch
  CHECK(cudaMemcpy(copy, scratch, host.size() * sizeof(float), cudaMemcpyDeviceToDevice));
  add_tile<<<height, pitch>>>(copy, dsums, pitch, width);
  CHECK(cudaMemcpy(sums.data(), dsums, height * sizeof(float), cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y) EXPECT(sums[y] == width * (width - 1) + width);
#ifdef FAULTY
  const int read = width + 1;
#else
  const int read = width;
#endif
  CHECK(cudaMemcpy2D(back.data(), pitch * sizeof(float), copy, pitch * sizeof(float),
                     read * sizeof(float), height, cudaMemcpyDeviceToHost));  // read
  for (int x = 0; x < width; ++x) EXPECT(back[pitch + x] == 2 * x);

  Pair pairs[32], *from, *to;
  uint4 words[32], *dwords, *dcopies;
  CHECK(cudaMalloc(&from, sizeof pairs));
  CHECK(cudaMalloc(&to, sizeof pairs));
  CHECK(cudaMalloc(&dwords, sizeof words));
  CHECK(cudaMalloc(&dcopies, sizeof words));
  CHECK(cudaMemset(from, 7, sizeof pairs / 2));
  CHECK(cudaMemset(dwords, 9, 8));
  move<<<1, 32>>>(from, to, dwords, dcopies);
  CHECK(cudaMemcpy(pairs, to, sizeof pairs, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(words, dcopies, sizeof words, cudaMemcpyDeviceToHost));
  EXPECT(pairs[3].tag == 7 && words[0].y == 0x09090909);

  int values[32], *dvalues, *cells;
  for (int i = 0; i < 32; ++i) values[i] = i;
  CHECK(cudaMalloc(&dvalues, sizeof values));
  CHECK(cudaMalloc(&cells, sizeof values));
  CHECK(cudaMemcpy(dvalues, values, sizeof values, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(cells, 0, 8 * sizeof(int)));
  count<<<1, 32>>>(cells, dvalues);
  CHECK(cudaMemcpy(values, cells, 8 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(values[7] == 7);
  for (void* one : {(void*)tile, (void*)scratch, (void*)copy, (void*)dsums, (void*)from, (void*)to,
                    (void*)dwords, (void*)dcopies, (void*)dvalues, (void*)cells}) {
    CHECK(cudaFree(one));
  }
  return passed();
}
