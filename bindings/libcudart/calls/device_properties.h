// Describes a device as cudaGetDeviceProperties does.
#pragma once

#include "bindings/libcudart/abi.h"

namespace gpuemu::libcudart {

/// Members that only CUDA 12 has.
#if GPUEMU_RUNTIME_MAJOR == 12
#define GPUEMU_12(...) __VA_ARGS__
#else
#define GPUEMU_12(...)
#endif

/// cudaDeviceProp
struct DeviceProperties {
  char name[256];
  libcuda::Uuid uuid;
  char luid[8];
  unsigned luid_node_mask;
  size_t memory_bytes, shared_bytes_per_block;
  int registers_per_block, warp_lanes;
  size_t pitch_max;
  int threads_per_block_max, block_max[3], grid_max[3] GPUEMU_12(, clock_khz);
  size_t constant_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int GPUEMU_12(device_overlap, ) multiprocessors,
      GPUEMU_12(has_timeout, ) integrated, can_map_host_memory,
      GPUEMU_12(compute_mode, ) texture_1d, texture_1d_mipmap,
      GPUEMU_12(texture_1d_linear, ) texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3],
      texture_2d_gather[2], texture_3d[3], texture_3d_alternate[3], texture_cubemap,
      texture_1d_layered[2], texture_2d_layered[3], texture_cubemap_layered[2], surface_1d,
      surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cubemap,
      surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines,
      unified_addressing, GPUEMU_12(memory_clock_khz, ) memory_bus_bits, l2_bytes,
      l2_persisting_bytes, threads_per_multiprocessor, stream_priorities, l1_of_global, l1_of_local;
  size_t shared_bytes_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, is_multi_gpu_board, multi_gpu_board_group,
      host_native_atomics, GPUEMU_12(single_to_double_ratio, ) pageable_access,
      concurrent_managed_access, compute_preemption, registered_host_pointer,
      cooperative_launch GPUEMU_12(, cooperative_multi_device);
  size_t shared_bytes_per_block_opt_in;
  int pageable_access_uses_host_tables, direct_managed_access, blocks_per_multiprocessor,
      access_policy_window_max;
  size_t reserved_shared_bytes_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools,
      rdma;
  unsigned rdma_flush_options;
  int rdma_ordering;
  unsigned pool_handle_types;
  int deferred_arrays, ipc_events, cluster_launch, unified_function_pointers;
#if GPUEMU_RUNTIME_MAJOR == 12
  int reserved[63];
#else
  int numa_config, numa_id, mps, host_numa_id;
  unsigned gpu_pci_device, gpu_pci_subsystem;
  int host_numa_multinode, reserved[56];
#endif
};
static_assert(sizeof(DeviceProperties) == (kIsRuntime12 ? 1032 : 1008));
#undef GPUEMU_12

/// Fills in the properties of an existing device, as the driver reports them.
void fill_properties(DeviceProperties& properties, int device);

}  // namespace gpuemu::libcudart
