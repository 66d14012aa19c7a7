// Uses the driver API and the runtime API together, as libraries do.
#include <cuda.h>

#include "program.h"

__global__ void triple(int* x) { *x *= 3; }

int main() {
  int *x, value = 14;
  CHECK(cudaMalloc(&x, sizeof value));
  CUcontext context = nullptr;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 4000, cudaEnableDefault,
                                         &found));
  EXPECT(found == cudaDriverEntryPointSuccess);
  EXPECT(reinterpret_cast<CUresult (*)(CUcontext*)>(function)(&context) == CUDA_SUCCESS);
  EXPECT(context != nullptr);
  CHECK(cudaMemcpy(x, &value, sizeof value, cudaMemcpyHostToDevice));
  cudaKernel_t kernel;
  CHECK(cudaGetKernel(&kernel, triple));
  void* arguments[] = {&x};
  CHECK(cudaLaunchKernel(reinterpret_cast<void*>(kernel), 1, 1, arguments, 0, 0));
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = 1;
  CHECK(cudaLaunchKernelEx(&config, triple, x));
  CHECK(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 126);
  CHECK(cudaFree(x));
  EXPECT(cudaIpcGetMemHandle(nullptr, x) == cudaErrorNotSupported);
  return passed();
}
