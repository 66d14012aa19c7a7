// Reads and writes textures and surfaces of every kind and prints the bits, to compare a GPU with the
// emulator: textures.sh says how. A line is `case index bits...`; a case that cannot run prints its error.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kPoints = 512;

struct Point {
  float x, y, z;
  int layer;
};

enum class Shape { Line, Plane, Volume, Lines, Planes, Cube, Cubes, Gather };
const char* const kShapes[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "gather"};

bool failed(const std::string& name, cudaError_t code) {
  if (code == cudaSuccess) return false;
  std::printf("%s error %s\n", name.c_str(), cudaGetErrorName(code));
  (void)cudaGetLastError();
  return true;
}

template <typename T>
struct Words;
template <>
struct Words<float4> {
  static __device__ uint4 of(float4 v) {
    return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
  }
};
template <>
struct Words<uint4> {
  static __device__ uint4 of(uint4 v) { return v; }
};

/// level < 0: no level of detail.
template <typename T>
__global__ void read(cudaTextureObject_t t, Shape shape, float level, const Point* points, uint4* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const Point p = points[i];
  T v{};
  if (level >= 0) {
    switch (shape) {
      case Shape::Line: v = tex1DLod<T>(t, p.x, level); break;
      case Shape::Plane: v = tex2DLod<T>(t, p.x, p.y, level); break;
      case Shape::Volume: v = tex3DLod<T>(t, p.x, p.y, p.z, level); break;
      case Shape::Lines: v = tex1DLayeredLod<T>(t, p.x, p.layer, level); break;
      case Shape::Planes: v = tex2DLayeredLod<T>(t, p.x, p.y, p.layer, level); break;
      case Shape::Cube: v = texCubemapLod<T>(t, p.x, p.y, p.z, level); break;
      case Shape::Cubes: v = texCubemapLayeredLod<T>(t, p.x, p.y, p.z, p.layer, level); break;
      case Shape::Gather: break;
    }
  } else {
    switch (shape) {
      case Shape::Line: v = tex1D<T>(t, p.x); break;
      case Shape::Plane: v = tex2D<T>(t, p.x, p.y); break;
      case Shape::Volume: v = tex3D<T>(t, p.x, p.y, p.z); break;
      case Shape::Lines: v = tex1DLayered<T>(t, p.x, p.layer); break;
      case Shape::Planes: v = tex2DLayered<T>(t, p.x, p.y, p.layer); break;
      case Shape::Cube: v = texCubemap<T>(t, p.x, p.y, p.z); break;
      case Shape::Cubes: v = texCubemapLayered<T>(t, p.x, p.y, p.z, p.layer); break;
      case Shape::Gather: v = tex2Dgather<T>(t, p.x, p.y, 0); break;
    }
  }
  out[i] = Words<T>::of(v);
}

/// Two texels per unit of x at level 1, and so on: the level comes from the gradients.
__global__ void read_by_gradient(cudaTextureObject_t t, float step, const Point* points, uint4* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const Point p = points[i];
  const float4 v = tex2DGrad<float4>(t, p.x, p.y, make_float2(step, 0), make_float2(0, step * 0.75f));
  out[i] = Words<float4>::of(v);
}

__global__ void access(cudaSurfaceObject_t s, Shape shape, cudaSurfaceBoundaryMode mode, bool stores,
                       const int4* points, uint4* out) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const int4 p = points[i];
  const unsigned value = 1000 + i;
  unsigned v = 0;
#define GPUEMU_MODES(CALL)                                                       \
  if (mode == cudaBoundaryModeClamp) CALL(cudaBoundaryModeClamp)                  \
  else CALL(cudaBoundaryModeZero)
#define GPUEMU_LINE(m) { if (stores) surf1Dwrite(value, s, p.x, m); else v = surf1Dread<unsigned>(s, p.x, m); }
#define GPUEMU_PLANE(m) { if (stores) surf2Dwrite(value, s, p.x, p.y, m); else v = surf2Dread<unsigned>(s, p.x, p.y, m); }
#define GPUEMU_VOLUME(m) { if (stores) surf3Dwrite(value, s, p.x, p.y, p.z, m); else v = surf3Dread<unsigned>(s, p.x, p.y, p.z, m); }
#define GPUEMU_LINES(m) { if (stores) surf1DLayeredwrite(value, s, p.x, p.z, m); else v = surf1DLayeredread<unsigned>(s, p.x, p.z, m); }
#define GPUEMU_PLANES(m) { if (stores) surf2DLayeredwrite(value, s, p.x, p.y, p.z, m); else v = surf2DLayeredread<unsigned>(s, p.x, p.y, p.z, m); }
  switch (shape) {
    case Shape::Line: GPUEMU_MODES(GPUEMU_LINE) break;
    case Shape::Plane: GPUEMU_MODES(GPUEMU_PLANE) break;
    case Shape::Volume: GPUEMU_MODES(GPUEMU_VOLUME) break;
    case Shape::Lines: GPUEMU_MODES(GPUEMU_LINES) break;
    default: GPUEMU_MODES(GPUEMU_PLANES) break;
  }
  out[i] = make_uint4(v, 0, 0, 0);
}

struct Random {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state >> 33);
  }
  float between(float low, float high) {
    return low + (high - low) * (static_cast<float>(next() & 0xffffff) / 0x1000000);
  }
};

/// Random places inside, further outside, and values at which bits are decided.
std::vector<Point> points(bool normalized, float size, bool is_direction) {
  const float special[] = {0, -0.0f, 1, -1, 0.5f, 2, 1e30f, -1e30f, INFINITY, -INFINITY, NAN,
                           1.0f / 512, 0.001f, 0.25f + 1.0f / 4096, 0.999999f, 1e-30f};
  const float unit = normalized || is_direction ? 1 : size;
  Random random{42};
  std::vector<Point> made;
  for (int i = 0; i < kPoints; ++i) {
    const float beyond = i % 4 == 3 ? 2.5f : 1;
    const float low = is_direction ? -beyond : beyond > 1 ? -1.5f * unit : 0;
    Point p{random.between(low, beyond * unit), random.between(low, beyond * unit),
            random.between(low, beyond * unit), static_cast<int>(random.next() % 7) - 2};
    if (i < 64) p.x = special[i % 16] * (i < 32 ? unit : size / 3);
    if (i >= 48 && i < 112) p.y = special[i % 16] * unit;
    if (i >= 96 && i < 160) p.z = special[(i * 3) % 16] * unit;
    // Texel borders and middles, and 512ths between texels.
    if (i >= 160 && i < 224) p.x = static_cast<float>(i - 160) / 4 * unit / size;
    if (i >= 224 && i < 288) p.x = (2 + static_cast<float>(i - 224) / 512) * unit / size;
    // Directions with two axes of the same length.
    if (is_direction && i >= 288 && i < 384) {
      const float sign = i % 2 == 0 ? 1.0f : -1.0f;
      if (i % 3 == 0) p.y = sign * p.x;
      if (i % 3 == 1) p.z = sign * p.y;
      if (i % 3 == 2) p.x = sign * p.z;
    }
    made.push_back(p);
  }
  return made;
}

struct Device {
  uint4* out = nullptr;
  Device() { (void)cudaMalloc(&out, kPoints * sizeof(uint4)); }
  void print(const std::string& name) const {
    std::vector<uint4> words(kPoints);
    if (failed(name, cudaMemcpy(words.data(), out, kPoints * sizeof(uint4), cudaMemcpyDeviceToHost))) return;
    for (int i = 0; i < kPoints; ++i) {
      std::printf("%s %d %08x %08x %08x %08x\n", name.c_str(), i, words[i].x, words[i].y, words[i].z, words[i].w);
    }
  }
};

struct Format {
  const char* name;
  cudaChannelFormatDesc channels;
  int texel_bytes;
  bool is_float, is_half;
  cudaTextureReadMode mode;
};

cudaExtent extent_of(Shape shape, int size) {
  switch (shape) {
    case Shape::Line: return make_cudaExtent(size, 0, 0);
    case Shape::Plane:
    case Shape::Gather: return make_cudaExtent(size, size - 1, 0);
    case Shape::Volume: return make_cudaExtent(size, size - 1, size - 2);
    case Shape::Lines: return make_cudaExtent(size, 0, 4);
    case Shape::Planes: return make_cudaExtent(size, size - 1, 4);
    case Shape::Cube: return make_cudaExtent(size, size, 6);
    case Shape::Cubes: return make_cudaExtent(size, size, 18);
  }
  return {};
}

unsigned flags_of(Shape shape) {
  switch (shape) {
    case Shape::Lines:
    case Shape::Planes: return cudaArrayLayered;
    case Shape::Cube: return cudaArrayCubemap;
    case Shape::Cubes: return cudaArrayCubemap | cudaArrayLayered;
    case Shape::Gather: return cudaArrayTextureGather;
    default: return 0;
  }
}

/// Fills an array with texels that `seed` determines: floats of many sizes, or random integers.
cudaError_t fill(cudaArray_t array, const Format& format, cudaExtent extent, uint64_t seed) {
  const size_t rows = extent.height == 0 ? 1 : extent.height, slices = extent.depth == 0 ? 1 : extent.depth;
  std::vector<unsigned char> bytes(extent.width * format.texel_bytes * rows * slices);
  Random random{seed};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(random.next() >> 7);
  for (size_t i = 0; format.is_float && i + 4 <= bytes.size(); i += 4) {
    const float value = random.between(-4, 4) * (random.next() % 8 == 0 ? 1000.0f : 1.0f);
    std::memcpy(&bytes[i], &value, sizeof value);
  }
  for (size_t i = 0; format.is_half && i + 2 <= bytes.size(); i += 2) {
    bytes[i + 1] &= 0xbf;  // Neither infinite nor NaN.
  }
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(bytes.data(), extent.width * format.texel_bytes, extent.width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, rows, slices);
  copy.kind = cudaMemcpyHostToDevice;
  return cudaMemcpy3D(&copy);
}

const char* const kModes[] = {"wrap", "clamp", "mirror", "border"};

void read_case(const std::string& name, cudaTextureObject_t texture, const Format& format, Shape shape,
               bool normalized, int size, float level, const Device& device) {
  const bool is_direction = shape == Shape::Cube || shape == Shape::Cubes;
  const std::vector<Point> at = points(normalized, static_cast<float>(size), is_direction);
  Point* on_device;
  if (failed(name, cudaMalloc(&on_device, kPoints * sizeof(Point)))) return;
  (void)cudaMemcpy(on_device, at.data(), kPoints * sizeof(Point), cudaMemcpyHostToDevice);
  const bool floats = format.is_float || format.is_half || format.mode == cudaReadModeNormalizedFloat;
  if (floats) {
    read<float4><<<kPoints / 128, 128>>>(texture, shape, level, on_device, device.out);
  } else {
    read<uint4><<<kPoints / 128, 128>>>(texture, shape, level, on_device, device.out);
  }
  if (!failed(name, cudaDeviceSynchronize())) device.print(name);
  (void)cudaFree(on_device);
}

void textures(const Device& device) {
  const Format formats[] = {
      {"float", cudaCreateChannelDesc<float>(), 4, true, false, cudaReadModeElementType},
      {"float4", cudaCreateChannelDesc<float4>(), 16, true, false, cudaReadModeElementType},
      {"half2", cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat), 4, false, true, cudaReadModeElementType},
      {"unorm8x4", cudaCreateChannelDesc<uchar4>(), 4, false, false, cudaReadModeNormalizedFloat},
      {"snorm8", cudaCreateChannelDesc<signed char>(), 1, false, false, cudaReadModeNormalizedFloat},
      {"unorm16", cudaCreateChannelDesc<unsigned short>(), 2, false, false, cudaReadModeNormalizedFloat},
      {"snorm16x2", cudaCreateChannelDesc<short2>(), 4, false, false, cudaReadModeNormalizedFloat},
      {"uint8x4", cudaCreateChannelDesc<uchar4>(), 4, false, false, cudaReadModeElementType},
      {"uint32x2", cudaCreateChannelDesc<uint2>(), 8, false, false, cudaReadModeElementType},
  };
  const Shape shapes[] = {Shape::Line, Shape::Plane, Shape::Volume, Shape::Lines,
                          Shape::Planes, Shape::Cube, Shape::Cubes, Shape::Gather};
  const int size = 9;
  for (const Shape shape : shapes) {
    for (const Format& format : formats) {
      cudaChannelFormatDesc channels = format.channels;
      const cudaExtent extent = extent_of(shape, size);
      cudaResourceDesc resource{};
      resource.resType = cudaResourceTypeArray;
      const std::string what = std::string(kShapes[static_cast<int>(shape)]) + "." + format.name;
      if (failed(what, cudaMalloc3DArray(&resource.res.array.array, &channels, extent, flags_of(shape)))) continue;
      if (failed(what, fill(resource.res.array.array, format, extent, 7))) continue;
      for (int mode = 0; mode < 4; ++mode) {
        for (int normalized = 0; normalized < 2; ++normalized) {
          for (int filter = 0; filter < 2; ++filter) {
            const bool repeats = mode == 0 || mode == 2;
            const bool is_cube = shape == Shape::Cube || shape == Shape::Cubes;
            if ((!normalized && (repeats || is_cube)) || (is_cube && mode > 1)) continue;
            if (filter == 1 && !format.is_float && !format.is_half && format.mode == cudaReadModeElementType) continue;
            cudaTextureDesc how{};
            how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = static_cast<cudaTextureAddressMode>(mode);
            how.filterMode = filter == 0 ? cudaFilterModePoint : cudaFilterModeLinear;
            how.readMode = format.mode;
            how.normalizedCoords = normalized;
            const std::string name = what + "." + kModes[mode] + (normalized ? ".normalized" : ".texels") +
                                     (filter == 0 ? ".point" : ".linear");
            cudaTextureObject_t texture;
            if (failed(name, cudaCreateTextureObject(&texture, &resource, &how, nullptr))) continue;
            read_case(name, texture, format, shape, normalized != 0, size, -1, device);
            (void)cudaDestroyTextureObject(texture);
          }
        }
      }
      (void)cudaFreeArray(resource.res.array.array);
    }
  }
}

void mipmaps(const Device& device) {
  const Format format{"float", cudaCreateChannelDesc<float>(), 4, true, false, cudaReadModeElementType};
  cudaChannelFormatDesc channels = format.channels;
  const int size = 16, levels = 5;
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  cudaMipmappedArray_t& array = resource.res.mipmap.mipmap;
  if (failed("mipmap", cudaMallocMipmappedArray(&array, &channels, make_cudaExtent(size, size, 0), levels))) return;
  for (int level = 0; level < levels; ++level) {
    cudaArray_t part;
    if (failed("mipmap", cudaGetMipmappedArrayLevel(&part, array, level))) return;
    if (failed("mipmap", fill(part, format, make_cudaExtent(size >> level, size >> level, 0), 11 + level))) return;
  }
  for (int filter = 0; filter < 4; ++filter) {
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.filterMode = filter % 2 == 0 ? cudaFilterModePoint : cudaFilterModeLinear;
    how.mipmapFilterMode = filter / 2 == 0 ? cudaFilterModePoint : cudaFilterModeLinear;
    how.minMipmapLevelClamp = 0;
    how.maxMipmapLevelClamp = levels - 1;
    how.normalizedCoords = 1;
    const std::string base = std::string("mipmap.2d.") + (filter % 2 == 0 ? "point" : "linear") +
                             (filter / 2 == 0 ? ".nearest_level" : ".linear_level");
    cudaTextureObject_t texture;
    if (failed(base, cudaCreateTextureObject(&texture, &resource, &how, nullptr))) continue;
    for (const float level : {0.0f, 0.25f, 0.5f, 0.501f, 1.0f, 1.49f, 2.5f, 2.7537f, 3.999f, 9.0f}) {
      read_case(base + ".level_" + std::to_string(level), texture, format, Shape::Plane, true, size, level, device);
    }
    read_case(base + ".no_level", texture, format, Shape::Plane, true, size, -1, device);
    const std::vector<Point> at = points(true, size, false);
    Point* on_device;
    if (failed(base, cudaMalloc(&on_device, kPoints * sizeof(Point)))) continue;
    (void)cudaMemcpy(on_device, at.data(), kPoints * sizeof(Point), cudaMemcpyHostToDevice);
    for (const float step : {0.01f, 0.0625f, 0.125f, 0.15f, 0.3f, 2.0f}) {
      const std::string name = base + ".gradient_" + std::to_string(step);
      read_by_gradient<<<kPoints / 128, 128>>>(texture, step, on_device, device.out);
      if (!failed(name, cudaDeviceSynchronize())) device.print(name);
    }
    (void)cudaFree(on_device);
    (void)cudaDestroyTextureObject(texture);
  }
  (void)cudaFreeMipmappedArray(array);
}

void surfaces(const Device& device) {
  const Format format{"uint32", cudaCreateChannelDesc<unsigned>(), 4, false, false, cudaReadModeElementType};
  cudaChannelFormatDesc channels = format.channels;
  const int size = 9;
  for (const Shape shape : {Shape::Line, Shape::Plane, Shape::Volume, Shape::Lines, Shape::Planes, Shape::Cube}) {
    for (const cudaSurfaceBoundaryMode mode : {cudaBoundaryModeClamp, cudaBoundaryModeZero}) {
      const cudaExtent extent = extent_of(shape, size);
      cudaResourceDesc resource{};
      resource.resType = cudaResourceTypeArray;
      const std::string name = std::string("surface.") + kShapes[static_cast<int>(shape)] +
                               (mode == cudaBoundaryModeClamp ? ".clamp" : ".zero");
      cudaArray_t& array = resource.res.array.array;
      if (failed(name, cudaMalloc3DArray(&array, &channels, extent, flags_of(shape) | cudaArraySurfaceLoadStore))) continue;
      if (failed(name, fill(array, format, extent, 5))) continue;
      cudaSurfaceObject_t surface;
      if (failed(name, cudaCreateSurfaceObject(&surface, &resource))) continue;
      Random random{3};
      std::vector<int4> at;
      for (int i = 0; i < kPoints; ++i) {
        const auto place = [&] { return static_cast<int>(random.next() % 15) - 3; };
        at.push_back(make_int4(4 * place(), place(), place(), 0));
      }
      at[5].x = -2147483648, at[6].x = 2147483644, at[7].y = -2147483647, at[8].z = 1 << 30;
      int4* on_device;
      if (failed(name, cudaMalloc(&on_device, kPoints * sizeof(int4)))) continue;
      (void)cudaMemcpy(on_device, at.data(), kPoints * sizeof(int4), cudaMemcpyHostToDevice);
      access<<<kPoints / 128, 128>>>(surface, shape, mode, false, on_device, device.out);
      if (!failed(name + ".load", cudaDeviceSynchronize())) device.print(name + ".load");
      // One thread at a time, so that the last of several stores to one place is known.
      for (int i = 0; i < 96; ++i) access<<<1, 1>>>(surface, shape, mode, true, on_device + i, device.out);
      std::vector<unsigned> texels(extent.width * (extent.height == 0 ? 1 : extent.height) * (extent.depth == 0 ? 1 : extent.depth));
      cudaMemcpy3DParms copy{};
      copy.srcArray = array;
      copy.extent = make_cudaExtent(extent.width, extent.height == 0 ? 1 : extent.height, extent.depth == 0 ? 1 : extent.depth);
      copy.dstPtr = make_cudaPitchedPtr(texels.data(), extent.width * 4, extent.width, copy.extent.height);
      copy.kind = cudaMemcpyDeviceToHost;
      if (!failed(name + ".store", cudaMemcpy3D(&copy))) {
        for (size_t i = 0; i < texels.size(); ++i) std::printf("%s.store %zu %08x\n", name.c_str(), i, texels[i]);
      }
      (void)cudaFree(on_device);
      (void)cudaDestroySurfaceObject(surface);
      (void)cudaFreeArray(array);
    }
  }
}

}  // namespace

int main() {
  const Device device;
  textures(device);
  mipmaps(device);
  surfaces(device);
  return 0;
}
