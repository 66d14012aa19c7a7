// Scans and sums of CUB, as many kernels contain them.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

extern "C" __global__ void cub_sums(const float* x, float* scan, float* total) {
  using Scan = cub::BlockScan<float, 128>;
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ union {
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
  } room;
  const int i = blockIdx.x * 128 + threadIdx.x;
  float before;
  Scan(room.scan).ExclusiveSum(x[i], before);
  scan[i] = before;
  __syncthreads();
  const float sum = Reduce(room.reduce).Sum(x[i]);
  if (threadIdx.x == 0) total[blockIdx.x] = sum;
}
