// Implements cuOccupancy*.
#include <algorithm>

#include "bindings/libcuda/calls/device_attributes.h"
#include "bindings/libcuda/calls/occupancy.h"
#include "bindings/libcuda/modules.h"
#include "common/base/limits.h"

namespace gpuemu::libcuda {
namespace {

using SharedOfBlock = size_t (*)(int block);

constexpr uint64_t kWarp = 32, kThreadsMax = 1024;
constexpr int kMultiprocessorCount = 16, kReservedShared = 111;

const DeviceProperties& device_of(const FunctionState& function) {
  return process()->devices[static_cast<size_t>(function.device)]->device->properties();
}

int threads_max(const FunctionState& function) {
  int most = static_cast<int>(kThreadsMax);
  function_attribute(function, 0, most);
  return most;
}

}  // namespace

uint32_t blocks_per_multiprocessor(const FunctionState& function, uint64_t threads,
                                   uint64_t dynamic_shared_bytes) {
  const DeviceProperties& device = device_of(function);
  if (threads == 0 || threads > kThreadsMax) return 0;
  const uint64_t rounded = (threads + kWarp - 1) / kWarp * kWarp;
  uint64_t blocks = std::min<uint64_t>(device.blocks_per_multiprocessor,
                                       device.threads_per_multiprocessor / rounded);
  const auto reserved =
      static_cast<uint64_t>(device_attribute(device, kReservedShared).value_or(0));
  const uint64_t shared = function.info.static_shared_bytes + dynamic_shared_bytes;
  if (shared > device.shared_bytes_per_block_max) return 0;
  if (shared + reserved > 0) {
    blocks = std::min(blocks, device.shared_bytes_per_multiprocessor / (shared + reserved));
  }
  if (function.info.registers > 0) {
    const uint64_t registers = rounded * static_cast<uint64_t>(function.info.registers);
    blocks = std::min(blocks, device.registers_per_multiprocessor / registers);
  }
  return static_cast<uint32_t>(blocks);
}

uint64_t resident_blocks(const FunctionState& function, uint64_t threads,
                         uint64_t dynamic_shared_bytes) {
  const auto multiprocessors = static_cast<uint64_t>(
      device_attribute(device_of(function), kMultiprocessorCount).value_or(1));
  return multiprocessors * blocks_per_multiprocessor(function, threads, dynamic_shared_bytes);
}

GPUEMU_DRIVER_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Function function, int threads, size_t dynamic_shared_bytes, unsigned flags) {
  return with_function(function, [&](Process&, const FunctionState& state) -> int {
    if (blocks == nullptr || threads <= 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    *blocks = static_cast<int>(
        blocks_per_multiprocessor(state, static_cast<uint64_t>(threads), dynamic_shared_bytes));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function,
                                                                  int threads,
                                                                  size_t dynamic_shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                              dynamic_shared_bytes, 0);
}

GPUEMU_DRIVER_API int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid_min, int* block,
                                                                Function function,
                                                                SharedOfBlock shared_of_block,
                                                                size_t dynamic_shared_bytes,
                                                                int block_limit, unsigned flags) {
  return with_function(function, [&](Process&, const FunctionState& state) -> int {
    if (grid_min == nullptr || block == nullptr || block_limit < 0 || flags > 1) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int most =
        block_limit == 0 ? threads_max(state) : std::min(block_limit, threads_max(state));
    uint64_t best = 0;
    *grid_min = *block = 0;
    const int step = static_cast<int>(kWarp);
    for (int threads = (most + step - 1) / step * step; threads > 0; threads -= step) {
      const int tried = std::min(threads, most);
      const size_t shared =
          shared_of_block == nullptr ? dynamic_shared_bytes : shared_of_block(tried);
      const uint64_t blocks =
          blocks_per_multiprocessor(state, static_cast<uint64_t>(tried), shared);
      if (blocks * static_cast<uint64_t>(tried) <= best) continue;
      best = blocks * static_cast<uint64_t>(tried);
      *block = tried;
      *grid_min = static_cast<int>(resident_blocks(state, static_cast<uint64_t>(tried), shared));
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuOccupancyMaxPotentialBlockSize(int* grid_min, int* block, Function function,
                                                       SharedOfBlock shared_of_block,
                                                       size_t dynamic_shared_bytes,
                                                       int block_limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid_min, block, function, shared_of_block,
                                                   dynamic_shared_bytes, block_limit, 0);
}

GPUEMU_DRIVER_API int cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, Function function,
                                                              int blocks, int threads) {
  return with_function(function, [&](Process&, const FunctionState& state) -> int {
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    const DeviceProperties& device = device_of(state);
    const auto taken = state.info.static_shared_bytes +
                       static_cast<uint64_t>(device_attribute(device, kReservedShared).value_or(0));
    const uint64_t each = device.shared_bytes_per_multiprocessor / static_cast<uint64_t>(blocks);
    *bytes = each <= taken ? 0 : std::min(each - taken, device.shared_bytes_per_block_max);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuOccupancyMaxPotentialClusterSize(int* blocks, Function function,
                                                         const LaunchParameters* what) {
  return with_function(function, [&](Process&, const FunctionState& state) -> int {
    if (blocks == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    constexpr int kClusters = 90;
    if (device_of(state).sm < kClusters) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *blocks = static_cast<int>(state.non_portable_cluster != 0 ? kLargeClusterBlocksMax
                                                               : kClusterBlocksMax);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuOccupancyMaxActiveClusters(int* clusters, Function function,
                                                   const LaunchParameters* what) {
  return with_function(function, [&](Process&, const FunctionState& state) -> int {
    if (clusters == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uint64_t blocks = 1;
    for (unsigned i = 0; what->attributes != nullptr && i < what->attribute_count; ++i) {
      const LaunchAttribute& one = what->attributes[i];
      if (one.id == kAttributeCluster) {
        blocks = uint64_t{one.value[0]} * one.value[1] * one.value[2];
      }
    }
    const uint64_t threads = uint64_t{what->block[0]} * what->block[1] * what->block[2];
    if (blocks == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *clusters = static_cast<int>(resident_blocks(state, threads, what->shared_bytes) / blocks);
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
