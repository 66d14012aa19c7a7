// Breadth-first search by frontiers; a counter on the device says how long the next one is.
#include "program.h"

__global__ void expand(const int* begins, const int* edges, const int* frontier, int count,
                       int* levels, int level, int* next, int* next_count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int node = frontier[i];
  for (int e = begins[node]; e < begins[node + 1]; ++e) {
    if (atomicCAS(&levels[edges[e]], -1, level) == -1) {
      next[atomicAdd(next_count, 1)] = edges[e];  // fault
    }
  }
}

int main() {
  const int nodes = 128;  // A binary tree.
  std::vector<int> begins{0}, edges, levels(nodes, -1);
  for (int node = 0; node < nodes; ++node) {
    for (int child : {2 * node + 1, 2 * node + 2}) {
      if (child < nodes) edges.push_back(child);
    }
    begins.push_back(edges.size());
  }
  int *dbegins, *dedges, *dlevels, *frontiers[2], *count, length = 1;
  CHECK(cudaMalloc(&dbegins, begins.size() * sizeof(int)));
  CHECK(cudaMalloc(&dedges, edges.size() * sizeof(int)));
  CHECK(cudaMalloc(&dlevels, nodes * sizeof(int)));
  CHECK(cudaMalloc(&frontiers[0], nodes * sizeof(int)));
  CHECK(cudaMalloc(&frontiers[1], nodes * sizeof(int)));
  CHECK(cudaMalloc(&count, sizeof(int)));
  levels[0] = 0;
  CHECK(cudaMemcpy(dbegins, begins.data(), begins.size() * sizeof(int), cudaMemcpyDefault));
  CHECK(cudaMemcpy(dedges, edges.data(), edges.size() * sizeof(int), cudaMemcpyDefault));
  CHECK(cudaMemcpy(dlevels, levels.data(), nodes * sizeof(int), cudaMemcpyDefault));
  CHECK(cudaMemset(frontiers[0], 0, sizeof(int)));
  for (int level = 1; length > 0 && level < 10; ++level) {
#ifndef FAULTY
    CHECK(cudaMemset(count, 0, sizeof(int)));
#endif
    expand<<<1, 128>>>(dbegins, dedges, frontiers[(level + 1) % 2], length, dlevels, level,
                       frontiers[level % 2], count);
#ifdef FAULTY
    (void)cudaDeviceSynchronize();
    return passed();
#endif
    CHECK(cudaMemcpy(&length, count, sizeof(int), cudaMemcpyDeviceToHost));
  }
  CHECK(cudaMemcpy(levels.data(), dlevels, nodes * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(levels[1] == 1 && levels[6] == 2 && levels[127] == 7);
  for (int* one : {dbegins, dedges, dlevels, frontiers[0], frontiers[1], count}) {
    CHECK(cudaFree(one));
  }
  return passed();
}
