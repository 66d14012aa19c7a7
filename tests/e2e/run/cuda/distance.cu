// The edit distance of two words: diagonals of a table in shared memory, one after the other.
#include <algorithm>
#include <cstring>

#include "program.h"

constexpr int kMost = 64;

__global__ void distance(const char* a, const char* b, int m, int n, int* result) {
  __shared__ int cost[kMost + 1][kMost + 1];
  int i = threadIdx.x;
  for (int diagonal = 0; diagonal <= m + n; ++diagonal) {
    int j = diagonal - i;
    if (i <= m && j >= 0 && j <= n) {
      int best = i == 0 ? j : j == 0 ? i : 0;
      if (i != 0 && j != 0) {
        best = min(cost[i - 1][j], cost[i][j - 1]) + 1;
        best = min(best, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      }
      cost[i][j] = best;
    }
#ifdef FAULTY
    if (i <= m) __syncthreads();  // fault
#else
    __syncthreads();
#endif
  }
  if (i == m) *result = cost[m][n];
}

int main() {
  const char a[] = "kitten on the mat", b[] = "sitting on a mat";
  const int m = std::strlen(a), n = std::strlen(b);
  char *da, *db;
  int *result, host = 0;
  CHECK(cudaMalloc(&da, m));
  CHECK(cudaMalloc(&db, n));
  CHECK(cudaMallocManaged(&result, sizeof *result));
  CHECK(cudaMemcpy(da, a, m, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b, n, cudaMemcpyHostToDevice));
  distance<<<1, kMost>>>(da, db, m, n, result);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaDeviceSynchronize());
  host = *result;
  EXPECT(host == 6);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(result));
  return passed();
}
