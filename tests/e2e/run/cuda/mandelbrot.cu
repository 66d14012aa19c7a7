// Draws a set into a picture in pinned memory, line by line in several streams.
#include "program.h"

__global__ void draw(unsigned char* line, int width, float y, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  float x = 3.0f * i / width - 2, a = 0, b = 0;
  int step = 0;
  for (; step < steps && a * a + b * b < 4; ++step) {
    float next = a * a - b * b + x;
    b = 2 * a * b + y;
    a = next;
  }
  line[i] = step;  // kernel
}

int main() {
  const int width = 100, height = 16, streams = 3;
  unsigned char *picture, *device;
  CHECK(cudaMallocHost(&picture, width * height));
  CHECK(cudaMalloc(&device, width * height));
  cudaStream_t stream[streams];
  for (auto& one : stream) CHECK(cudaStreamCreate(&one));
  for (int row = 0; row < height; ++row) {
    cudaStream_t mine = stream[row % streams];
    unsigned char* line = device + row * width;
    draw<<<1, 128, 0, mine>>>(line, width, 2.0f * row / height - 1, 50);
#ifdef FAULTY
    mine = stream[(row + 1) % streams];
#endif
    unsigned char* to = picture + row * width;
    CHECK(cudaMemcpyAsync(to, line, width, cudaMemcpyDeviceToHost, mine));  // fault
  }
  for (auto one : stream) CHECK(cudaStreamSynchronize(one));
  EXPECT(picture[height / 2 * width + 66] == 50 && picture[0] < 5);
  for (auto one : stream) CHECK(cudaStreamDestroy(one));
  CHECK(cudaFreeHost(picture));
  CHECK(cudaFree(device));
  return passed();
}
