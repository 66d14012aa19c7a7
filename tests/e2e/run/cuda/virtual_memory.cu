// Grows a vector in place: a reserved range of addresses, to which memory is mapped piece by piece.
#include <cuda.h>

#include "program.h"

inline void check(CUresult code, const char* what, int line) {
  expect(code == CUDA_SUCCESS, what, line);
}

__global__ void count(int* x, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    x[i] = i;  // fault
  }
}

int main() {
  CHECK(cudaFree(nullptr));
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t piece = 0;
  CHECK(cuMemGetAllocationGranularity(&piece, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr begin;
  CHECK(cuMemAddressReserve(&begin, 4 * piece, 0, 0, 0));
  CUmemGenericAllocationHandle memory[2], again;
  CUmemAccessDesc access{};
  access.location = what.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  for (int i = 0; i < 2; ++i) {
    CHECK(cuMemCreate(&memory[i], piece, &what, 0));
    CHECK(cuMemMap(begin + i * piece, piece, 0, memory[i], 0));
    CHECK(cuMemSetAccess(begin + i * piece, piece, &access, 1));
  }
  EXPECT(cuMemMap(begin + piece, piece, 0, memory[0], 0) == CUDA_ERROR_INVALID_VALUE);
  unsigned long long flags = 0;
  CHECK(cuMemGetAccess(&flags, &what.location, begin));
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(begin + piece)));
  EXPECT(again == memory[1]);
  CHECK(cuMemRelease(again));

  size_t n = 2 * piece / sizeof(int);
#ifdef FAULTY
  n += 16;
#endif
  auto* x = reinterpret_cast<int*>(begin);
  count<<<2, 256>>>(x, n);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  std::vector<int> host(n);
  CHECK(cudaMemcpy(host.data(), x, 2 * piece, cudaMemcpyDeviceToHost));
  EXPECT(host[5] == 5 && host[2 * piece / sizeof(int) - 1] == int(2 * piece / sizeof(int) - 1));

  // The same memory at a second address.
  CHECK(cuMemMap(begin + 3 * piece, piece, 0, memory[1], 0));
  CHECK(cuMemSetAccess(begin + 3 * piece, piece, &access, 1));
  int first = 0;
  CHECK(cudaMemcpy(&first, x + 3 * piece / sizeof(int), sizeof first, cudaMemcpyDeviceToHost));
  EXPECT(first == int(piece / sizeof(int)));
  CHECK(cuMemUnmap(begin + 3 * piece, piece));
  CHECK(cuMemUnmap(begin, 2 * piece));
  for (auto one : memory) CHECK(cuMemRelease(one));
  EXPECT(cuMemRelease(memory[0]) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(begin, 4 * piece));
  return passed();
}
