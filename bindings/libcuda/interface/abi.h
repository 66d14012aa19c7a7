// Declares the types and constants of the published driver API that this library uses. A handle is
// a number in the form of a pointer; it is never dereferenced.
#pragma once

#include <cstddef>
#include <cstdint>

#define GPUEMU_DRIVER_API extern "C" __attribute__((visibility("default")))

namespace gpuemu::libcuda {

using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Library = struct OpaqueLibrary*;
using Kernel = struct OpaqueKernel*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;
using GraphNode = struct OpaqueGraphNode*;
using ArrayHandle = struct OpaqueArray*;
using MipmapHandle = struct OpaqueMipmap*;
using Linker = struct OpaqueLinker*;
using Pool = struct OpaquePool*;
using Address = unsigned long long;  // NOLINT(google-runtime-int): CUdeviceptr is one.

/// CUresult. Every function of the driver API returns one as an int.
enum Code : int {
#define GPUEMU_DRIVER_RESULT(name, value, text) name = value,
#include "bindings/libcuda/interface/results.def"
#undef GPUEMU_DRIVER_RESULT
};

/// CUuuid.
struct Uuid {
  char bytes[16];
};

/// CUlaunchAttribute and CUlaunchConfig.
struct alignas(8) LaunchAttribute {
  unsigned id, unused;
  unsigned value[16];
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchParameters {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchParameters) == 56);
inline constexpr unsigned kAttributeIgnore = 0, kAttributeCooperative = 2, kAttributeCluster = 4,
                          kAttributeProgrammaticSerialization = 6, kAttributePriority = 8;

/// CU_LAUNCH_PARAM_*: the keys in the `extra` array of a launch.
inline constexpr uintptr_t kExtraEnd = 0, kExtraBuffer = 1, kExtraBytes = 2;

/// CUmemorytype.
enum class MemoryType : unsigned { Host = 1, Device = 2, Array = 3, Unified = 4 };

/// CUDA_MEMCPY2D_v2.
struct Copy2d {
  struct End {
    size_t x_bytes, y;
    MemoryType type;
    const void* host;
    Address device;
    ArrayHandle array;
    size_t pitch;
  };
  End from, to;
  size_t width_bytes, height;
};
static_assert(sizeof(Copy2d) == 128);

/// CUDA_MEMCPY3D_v2 and CUDA_MEMCPY3D_PEER.
struct Copy3d {
  struct End {
    size_t x_bytes, y, z, lod;
    MemoryType type;
    const void* host;
    Address device;
    ArrayHandle array;
    void* context;
    size_t pitch, height;
  };
  End from, to;
  size_t width_bytes, height, depth;
};
static_assert(sizeof(Copy3d) == 200);

/// CUdevprop.
struct DeviceProperty {
  int threads_per_block, block[3], grid[3], shared_bytes_per_block, constant_bytes, warp_lanes,
      pitch_bytes, registers_per_block, clock_khz, texture_alignment;
};

/// CUctxCreateParams
struct ContextParameters {
  const void* affinity;
  int affinity_count;
  const void* graphics;
};

/// CUmemLocation, CUmemAccessDesc, CUmemPoolProps.
struct Location {
  int type, id;
};
struct AccessDescription {
  Location location;
  int flags;
};
struct PoolProperties {
  int allocation_type, handle_types;
  Location location;
  void* security;
  size_t bytes_max;
  unsigned short usage;  // NOLINT(google-runtime-int)
  unsigned char reserved[54];
};
static_assert(sizeof(PoolProperties) == 88);

/// CUmemAllocationProp
struct AllocationProperties {
  int type, handle_types;
  Location location;
  void* security;
  unsigned char compression, is_rdma_capable;
  unsigned short usage;  // NOLINT(google-runtime-int)
  unsigned char reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32);

/// The CUjit_option values that this library obeys.
inline constexpr int kJitInfoLog = 3, kJitInfoLogBytes = 4, kJitErrorLog = 5, kJitErrorLogBytes = 6;

/// CU_STREAM_NON_BLOCKING, and the handles of the predefined streams.
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr uintptr_t kStreamLegacy = 1, kStreamPerThread = 2;

}  // namespace gpuemu::libcuda
