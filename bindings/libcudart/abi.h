// Declares the types of the published runtime API that this library uses: those of CUDA 13, and
// those of CUDA 12 where GPUEMU_RUNTIME_MAJOR is 12.
#pragma once

#include "bindings/libcuda/interface/abi.h"
#include "bindings/libcuda/interface/array_abi.h"
#include "bindings/libcuda/interface/graph_abi.h"

#define GPUEMU_RUNTIME_API extern "C" __attribute__((visibility("default")))

/// The name of a function in its later form. In CUDA 12 the plain name is an earlier form, defined
/// in calls/earlier_forms.cc.
#if GPUEMU_RUNTIME_MAJOR == 12
#define GPUEMU_LATER(name, number) name##_v##number
#define GPUEMU_LATER_PER_THREAD(name, number) name##_v##number##_ptsz
#else
#define GPUEMU_LATER(name, number) name
#define GPUEMU_LATER_PER_THREAD(name, number) name##_ptsz
#endif

namespace gpuemu::libcudart {

using libcuda::Address;
using libcuda::ArrayHandle;
using libcuda::Context;
using libcuda::Event;
using libcuda::Function;
using libcuda::Graph;
using libcuda::GraphExec;
using libcuda::GraphNode;
using libcuda::Kernel;
using libcuda::Library;
using libcuda::Linker;
using libcuda::Pool;
using libcuda::Stream;

constexpr bool kIsRuntime12 = GPUEMU_RUNTIME_MAJOR == 12;
/// The result of cudaRuntimeGetVersion.
constexpr int kRuntimeVersion = kIsRuntime12 ? 12090 : 13000;

/// cudaError. Every function of the runtime API returns one as an int.
enum Error : int {
#define GPUEMU_RUNTIME_ERROR(name, value, text) name = value,
#include "bindings/libcudart/errors.def"
#undef GPUEMU_RUNTIME_ERROR
};

/// dim3
struct Extent3 {
  unsigned x, y, z;
};

/// cudaLaunchConfig_t
struct LaunchConfig {
  Extent3 grid, block;
  size_t shared_bytes;
  Stream stream;
  const libcuda::LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

/// cudaFuncAttributes
struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int threads_max, registers, ptx_version, binary_version, cache_mode, dynamic_shared_max, carveout,
      cluster_must_be_set, cluster[3], cluster_policy, non_portable_cluster, reserved[16];
};
static_assert(sizeof(FunctionAttributes) == 144);

/// cudaMemoryType and cudaPointerAttributes
enum class MemoryType : int { Unregistered = 0, Host = 1, Device = 2, Managed = 3 };
struct PointerAttributes {
  MemoryType type;
  int device;
  void *device_pointer, *host_pointer;
#if GPUEMU_RUNTIME_MAJOR != 12
  uint64_t reserved[8];
#endif
};
static_assert(sizeof(PointerAttributes) == (kIsRuntime12 ? 24 : 88));

/// cudaMemcpyKind
enum class CopyKind : int { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

/// cudaExtent, cudaPos and cudaPitchedPtr
struct Extent {
  size_t width, height, depth;
};
struct Position {
  size_t x, y, z;
};
struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};

/// cudaMemcpy3DParms and cudaMemcpy3DPeerParms
struct Copy3dEnd {
  ArrayHandle array;
  Position position;
  PitchedPointer pointer;
};
struct Copy3dParameters {
  Copy3dEnd from, to;
  Extent extent;
  CopyKind kind;
};
static_assert(sizeof(Copy3dParameters) == 160);
struct Copy3dPeerParameters {
  Copy3dEnd from;
  int from_device;
  Copy3dEnd to;
  int to_device;
  Extent extent;
};
static_assert(sizeof(Copy3dPeerParameters) == 168);

/// cudaChannelFormatDesc
enum class ChannelKind : int { Signed, Unsigned, Float };
struct ChannelFormat {
  int x, y, z, w;  ///< Bits of each channel.
  ChannelKind kind;
};
static_assert(sizeof(ChannelFormat) == 20);

/// Members of ResourceDescription.
struct LinearResource {
  void* pointer;
  ChannelFormat format;
  size_t bytes;
};
struct PlaneResource {
  void* pointer;
  ChannelFormat format;
  size_t width, height, pitch_bytes;
};

/// cudaResourceDesc
struct ResourceDescription {
  libcuda::ResourceType type;
  union {
#if GPUEMU_RUNTIME_MAJOR != 12
    int reserved[32];
#endif
    ArrayHandle array;
    LinearResource linear;
    PlaneResource plane;
  };
#if GPUEMU_RUNTIME_MAJOR != 12
  unsigned flags;
#endif
};
static_assert(sizeof(ResourceDescription) == (kIsRuntime12 ? 64 : 144));

/// cudaTextureDesc
struct TextureDescription {
  unsigned address_modes[3], filter, reads_normalized;
  int is_srgb;
  float border[4];
  int normalized_coordinates;
  unsigned anisotropy_max, mipmap_filter;
  float mipmap_bias, mipmap_min, mipmap_max;
  int no_trilinear, seamless_cubemap;
};
static_assert(sizeof(TextureDescription) == 72);

/// Members of NodeParameters.
struct CopyNode {
  int flags, reserved[3];
  Copy3dParameters what;
};
struct ChildNode {
  Graph graph;
  int ownership;
};
struct EventNode {
  Event event;
};

/// cudaGraphNodeParams. A kernel node has the host function.
struct NodeParameters {
  libcuda::NodeType type;
  int reserved_0[3];
  union {
    int64_t reserved_1[29];
    libcuda::KernelNodeFirst kernel;
    CopyNode copy;
    libcuda::FillNode fill;
    libcuda::HostNode host;
    ChildNode child;
    EventNode event;
    libcuda::AllocNode alloc;
    libcuda::FreeNode free;
    libcuda::ConditionalNode conditional;
  };
  int64_t reserved_2;
};
static_assert(sizeof(NodeParameters) == 256);

/// __fatBinC_Wrapper_t
struct FatBinaryWrapper {
  int magic, version;
  const void* container;
  void* file_name_or_parts;  ///< Version 2: a list of containers to link, which ends with null.
};

}  // namespace gpuemu::libcudart
