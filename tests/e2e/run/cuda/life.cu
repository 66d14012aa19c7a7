// Conway's game of life on a torus, with bits of a row in a word of each thread and warp shuffles.
#include <algorithm>

#include "program.h"

__global__ void step(const unsigned* from, unsigned* to, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned lines[3];
  for (int k = 0; k < 3; ++k) lines[k] = from[(row + k - 1 + rows) % rows];
  unsigned next = 0;
  for (int bit = 0; bit < 32; ++bit) {
    int neighbours = 0;
    for (int k = 0; k < 3; ++k) {
      unsigned around = __funnelshift_r(lines[k], lines[k], (bit + 31) % 32) & 7;
      if (k == 1) around &= ~2u;
      neighbours += __popc(around);
    }
    bool alive = lines[1] >> bit & 1;
    if (neighbours == 3 || (alive && neighbours == 2)) next |= 1u << bit;
  }
  to[row] = next;
}

int main() {
  const int rows = 64;
  std::vector<unsigned> world(rows), after(rows);
  world[1] = 2;  // A glider, which moves by one to the right and down in four steps.
  world[2] = 4;
  world[3] = 7;
  unsigned *from, *to;
  CHECK(cudaMalloc(&from, rows * sizeof(unsigned)));
  CHECK(cudaMalloc(&to, rows * sizeof(unsigned)));
  CHECK(cudaMemcpy(from, world.data(), rows * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (int i = 0; i < 4; ++i) {
    step<<<2, 32>>>(from, to, rows);
    std::swap(from, to);
  }
#ifdef FAULTY
  CHECK(cudaFree(from));
  (void)cudaMemcpy(after.data(), from, rows * sizeof(unsigned), cudaMemcpyDeviceToHost);  // fault
  CHECK(cudaFree(to));
#else
  CHECK(cudaMemcpy(after.data(), from, rows * sizeof(unsigned), cudaMemcpyDeviceToHost));
  EXPECT(after[2] == 4 && after[3] == 8 && after[4] == 14);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
#endif
  return passed();
}
