// Declares the types of the published runtime API of CUDA 13 that this library uses.
#pragma once

#include "bindings/libcuda/interface/abi.h"
#include "bindings/libcuda/interface/array_abi.h"
#include "bindings/libcuda/interface/graph_abi.h"

#define GPUEMU_RUNTIME_API extern "C" __attribute__((visibility("default")))

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
  uint64_t reserved[8];
};
static_assert(sizeof(PointerAttributes) == 88);

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
    int reserved[32];
    ArrayHandle array;
    LinearResource linear;
    PlaneResource plane;
  };
  unsigned flags;
};
static_assert(sizeof(ResourceDescription) == 144);

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

/// cudaGraphNodeParams. A kernel node has the function of the host.
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

/// cudaDeviceProp
struct DeviceProperties {
  char name[256];
  libcuda::Uuid uuid;
  char luid[8];
  unsigned luid_node_mask;
  size_t memory_bytes, shared_bytes_per_block;
  int registers_per_block, warp_lanes;
  size_t pitch_max;
  int threads_per_block_max, block_max[3], grid_max[3];
  size_t constant_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, can_map_host_memory, texture_1d, texture_1d_mipmap,
      texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2],
      texture_3d[3], texture_3d_alternate[3], texture_cubemap, texture_1d_layered[2],
      texture_2d_layered[3], texture_cubemap_layered[2], surface_1d, surface_2d[2], surface_3d[3],
      surface_1d_layered[2], surface_2d_layered[3], surface_cubemap, surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines,
      unified_addressing, memory_bus_bits, l2_bytes, l2_persisting_bytes,
      threads_per_multiprocessor, stream_priorities, l1_of_global, l1_of_local;
  size_t shared_bytes_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, is_multi_gpu_board, multi_gpu_board_group,
      host_native_atomics, pageable_access, concurrent_managed_access, compute_preemption,
      registered_host_pointer, cooperative_launch;
  size_t shared_bytes_per_block_opt_in;
  int pageable_access_uses_host_tables, direct_managed_access, blocks_per_multiprocessor,
      access_policy_window_max;
  size_t reserved_shared_bytes_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools,
      rdma;
  unsigned rdma_flush_options;
  int rdma_ordering;
  unsigned pool_handle_types;
  int deferred_arrays, ipc_events, cluster_launch, unified_function_pointers, numa_config, numa_id,
      mps, host_numa_id;
  unsigned gpu_pci_device, gpu_pci_subsystem;
  int host_numa_multinode, reserved[56];
};
static_assert(sizeof(DeviceProperties) == 1008);

}  // namespace gpuemu::libcudart
