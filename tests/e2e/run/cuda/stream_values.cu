// Orders two streams by a number in memory: one waits for it, the other writes it.
#include <cuda.h>

#include "program.h"

inline void check(CUresult code, const char* what, int line) {
  expect(code == CUDA_SUCCESS, what, line);
}

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }  // kernel

int main() {
  const int n = 64;
  int *x, *flag;
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  CHECK(cudaMalloc(&flag, 2 * sizeof(int)));
  CHECK(cudaMemset(flag, 0, 2 * sizeof(int)));
  cudaStream_t writer, reader;
  CHECK(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  const auto at = reinterpret_cast<CUdeviceptr>(flag);
  fill<<<1, n, 0, writer>>>(x, 21);
  CHECK(cuStreamWriteValue32(writer, at, 7, CU_STREAM_WRITE_VALUE_DEFAULT));
#ifndef FAULTY
  CHECK(cuStreamWaitValue32(reader, at, 7, CU_STREAM_WAIT_VALUE_EQ));
#endif
  twice<<<1, n, 0, reader>>>(x);  // fault
  std::vector<int> host(n);
  CHECK(cudaStreamSynchronize(reader));
  CHECK(cudaStreamSynchronize(writer));
  CHECK(cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  EXPECT(host[0] == 42 && host[n - 1] == 42);
#endif

  // The wait is issued before the work that it waits for.
  CHECK(cuStreamWaitValue32(reader, at, 9, CU_STREAM_WAIT_VALUE_GEQ));
  twice<<<1, n, 0, reader>>>(x);
  fill<<<1, n, 0, writer>>>(x, 4);
  CHECK(cuStreamWriteValue32(writer, at, 9, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cudaStreamSynchronize(reader));
  CHECK(cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 8 && host[n - 1] == 8);

  // Waits before the value is written.
  CHECK(cuStreamWaitValue64(reader, at, uint64_t(1) << 40, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT(cudaStreamQuery(reader) == cudaErrorNotReady);
  CHECK(cuStreamWriteValue64(writer, at, (uint64_t(1) << 40) + 3, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cudaStreamSynchronize(reader));
  EXPECT(cuStreamWaitValue32(reader, at + 1, 7, CU_STREAM_WAIT_VALUE_EQ) ==
         CUDA_ERROR_INVALID_VALUE);
  CHECK(cudaStreamDestroy(writer));
  CHECK(cudaStreamDestroy(reader));
  CHECK(cudaFree(x));
  CHECK(cudaFree(flag));
  return passed();
}
