// Accesses surfaces of lines, volumes, layers and cubes, and beyond their edges in each mode.
#include "program.h"

struct Surfaces {
  cudaSurfaceObject_t line, volume, layers, lines, cube;
};

__global__ void fill(Surfaces to, int size) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  short2 value = make_short2(x + 10 * y, -z);
  surf3Dwrite(value, to.volume, x * 4, y, z);
  surf2DLayeredwrite(value, to.layers, x * 4, y, z);
  surfCubemapwrite(value, to.cube, x * 4, y, z);
  if (y == 0) surf1DLayeredwrite(value, to.lines, x * 4, z);
  if (y == 0 && z == 0) surf1Dwrite(value, to.line, x * 4);
#ifdef FAULTY
  short2 mine;
  surf3Dread(&mine, to.volume, x * 4, y, z);  // fault
  if (mine.x != value.x) surf3Dwrite(mine, to.volume, x * 4, y, z);
#endif
}

__global__ void sum(Surfaces from, int* out, int size) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  int total = 0;
  auto add = [&](short2 one) { total = total * 3 + one.x + 1000 * one.y; };
  add(surf3Dread<short2>(from.volume, x * 4, y, z));
  add(surf2DLayeredread<short2>(from.layers, x * 4, y, z));
  add(surfCubemapread<short2>(from.cube, x * 4, y, z));
  add(surf1DLayeredread<short2>(from.lines, x * 4, z));
  add(surf1Dread<short2>(from.line, x * 4));
  // Beyond the edge: 0, and the last texel.
  add(surf3Dread<short2>(from.volume, (x + size) * 4, y, z, cudaBoundaryModeZero));
  add(surf3Dread<short2>(from.volume, (x + size) * 4, y - size, z + 9, cudaBoundaryModeClamp));
  out[(z * size + y) * size + x] = total;
}

__global__ void write_beyond(Surfaces to, int size) {
  surf3Dwrite(make_short2(9, 9), to.volume, size * 4, 0, 0, cudaBoundaryModeZero);
  surf3Dwrite(make_short2(7, 8), to.volume, size * 40, size + 3, -2, cudaBoundaryModeClamp);
}

int main() {
  const int size = 8, slices = 6;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<short2>();
  std::vector<cudaArray_t> arrays;
  auto surface_of = [&](cudaExtent extent, unsigned flags) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    CHECK(cudaMalloc3DArray(&resource.res.array.array, &format, extent,
                            flags | cudaArraySurfaceLoadStore));
    arrays.push_back(resource.res.array.array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
  };
  Surfaces all{surface_of(make_cudaExtent(size, 0, 0), 0),
               surface_of(make_cudaExtent(size, size, slices), 0),
               surface_of(make_cudaExtent(size, size, slices), cudaArrayLayered),
               surface_of(make_cudaExtent(size, 0, slices), cudaArrayLayered),
               surface_of(make_cudaExtent(size, size, slices), cudaArrayCubemap)};
  int* device;
  std::vector<int> out(size * size * slices);
  CHECK(cudaMalloc(&device, out.size() * sizeof(int)));
  fill<<<slices, dim3(size, size)>>>(all, size);
  sum<<<slices, dim3(size, size)>>>(all, device, size);
  write_beyond<<<1, 1>>>(all, size);
  CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int z = 0; z < slices; ++z) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        int total = 0;
        auto add = [&](int value, int slice) { total = total * 3 + value - 1000 * slice; };
        for (int i = 0; i < 3; ++i) add(x + 10 * y, z);
        add(x, z);
        add(x, 0);
        add(0, 0);
        add(size - 1, slices - 1);
        EXPECT(out[(z * size + y) * size + x] == total);
      }
    }
  }
  std::vector<short2> texels(size * size * slices);
  cudaMemcpy3DParms copy{};
  copy.srcArray = arrays[1];
  copy.dstPtr = make_cudaPitchedPtr(texels.data(), size * sizeof(short2), size, size);
  copy.extent = make_cudaExtent(size, size, slices);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  EXPECT(texels[0].x == 0 && texels[0].y == 0 && texels[size].x == 10);
  EXPECT(texels[size * size - 1].x == 7 && texels[size * size - 1].y == 8);
  for (cudaSurfaceObject_t one : {all.line, all.volume, all.layers, all.lines, all.cube}) {
    CHECK(cudaDestroySurfaceObject(one));
  }
  for (cudaArray_t one : arrays) CHECK(cudaFreeArray(one));
  CHECK(cudaFree(device));
  return passed();
}
