// Pools of pinned memory of the host and of managed memory.
#include <cstdint>

#include "program.h"

__global__ void twice(int* x) { x[threadIdx.x] *= 2; }

cudaMemPool_t pool_of(cudaMemAllocationType type, cudaMemLocationType where) {
  cudaMemPoolProps what{};
  what.allocType = type;
  what.location = {where, 0};
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &what));
  return pool;
}

void use(cudaMemPool_t pool, cudaMemoryType type, cudaStream_t stream) {
  int* x;
  CHECK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&x), 128, pool, stream));
  CHECK(cudaStreamSynchronize(stream));
  cudaPointerAttributes about{};
  CHECK(cudaPointerGetAttributes(&about, x));
  EXPECT(about.type == type);
  for (int i = 0; i < 32; ++i) x[i] = i;
  twice<<<1, 32, 0, stream>>>(x);
#ifndef FAULTY
  CHECK(cudaStreamSynchronize(stream));
#endif
  EXPECT(x[31] == 62);  // fault
  CHECK(cudaStreamSynchronize(stream));
  uint64_t used = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == 128);
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == 0);
  CHECK(cudaMemPoolDestroy(pool));
}

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const cudaMemPool_t pinned = pool_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost);
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, 0};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  cudaMemAccessFlags flags = access.flags;
  CHECK(cudaMemPoolGetAccess(&flags, pinned, &access.location));
  EXPECT(flags == cudaMemAccessFlagsProtNone);
  CHECK(cudaMemPoolSetAccess(pinned, &access, 1));
  CHECK(cudaMemPoolGetAccess(&flags, pinned, &access.location));
  EXPECT(flags == cudaMemAccessFlagsProtReadWrite);
  use(pinned, cudaMemoryTypeHost, stream);
  use(pool_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma), cudaMemoryTypeHost, stream);
  use(pool_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice), cudaMemoryTypeManaged, stream);
  cudaMemPoolProps wrong{};
  wrong.allocType = cudaMemAllocationTypePinned;
  wrong.location.type = cudaMemLocationTypeHostNumaCurrent;
  cudaMemPool_t none;
  EXPECT(cudaMemPoolCreate(&none, &wrong) == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
