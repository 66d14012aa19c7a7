// Implements cudaFunc*, occupancy, and the handles of kernels.
#include "bindings/libcudart/calls/launch_config.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

/// Calls `work` with the kernel of a host function.
template <typename Work>
int with_kernel(const void* function, const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        const FoundKernel found = find_kernel(function);
        return found.code == cudaSuccess ? work(reinterpret_cast<Function>(found.kernel))
                                         : found.code;
      },
      call);
}

template <typename Member>
void set(Member& member, Function function, int attribute) {
  int value = 0;
  (void)cuFuncGetAttribute(&value, attribute, function);
  member = static_cast<Member>(value);
}

}  // namespace

GPUEMU_RUNTIME_API int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  return with_kernel(function, [&](Function kernel) -> int {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    FunctionAttributes& all = *attributes;
    all = {};
    // The numbers are those of CUfunction_attribute.
    set(all.threads_max, kernel, 0);
    set(all.shared_bytes, kernel, 1);
    set(all.constant_bytes, kernel, 2);
    set(all.local_bytes, kernel, 3);
    set(all.registers, kernel, 4);
    set(all.ptx_version, kernel, 5);
    set(all.binary_version, kernel, 6);
    set(all.cache_mode, kernel, 7);
    set(all.dynamic_shared_max, kernel, 8);
    set(all.carveout, kernel, 9);
    set(all.cluster_must_be_set, kernel, 10);
    set(all.cluster[0], kernel, 11);
    set(all.cluster[1], kernel, 12);
    set(all.cluster[2], kernel, 13);
    set(all.non_portable_cluster, kernel, 14);
    set(all.cluster_policy, kernel, 15);
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  return with_kernel(function,
                     [&](Function kernel) { return cuFuncSetAttribute(kernel, attribute, value); });
}

GPUEMU_RUNTIME_API int cudaFuncSetCacheConfig(const void* function, int config) {
  return with_kernel(function,
                     [&](Function kernel) { return cuFuncSetCacheConfig(kernel, config); });
}

GPUEMU_RUNTIME_API int cudaFuncGetName(const char** name, const void* function) {
  return with_kernel(function, [&](Function kernel) {
    return cuKernelGetName(name, reinterpret_cast<Kernel>(kernel));
  });
}

GPUEMU_RUNTIME_API int cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                            size_t* bytes) {
  return with_kernel(
      function, [&](Function kernel) { return cuFuncGetParamInfo(kernel, index, offset, bytes); });
}

GPUEMU_RUNTIME_API int cudaGetFuncBySymbol(Function* made, const void* function) {
  return with_kernel(function, [&](Function kernel) {
    return cuKernelGetFunction(made, reinterpret_cast<Kernel>(kernel));
  });
}

GPUEMU_RUNTIME_API int cudaGetKernel(Kernel* made, const void* function) {
  return with_kernel(function, [&](Function kernel) -> int {
    if (made == nullptr) return cudaErrorInvalidValue;
    *made = reinterpret_cast<Kernel>(kernel);
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t dynamic_shared_bytes, unsigned flags) {
  return with_kernel(function, [&](Function kernel) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads,
                                                                dynamic_shared_bytes, flags);
  });
}

GPUEMU_RUNTIME_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     const void* function,
                                                                     int threads,
                                                                     size_t dynamic_shared_bytes) {
  return with_kernel(function, [&](Function kernel) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads,
                                                                dynamic_shared_bytes, 0);
  });
}

GPUEMU_RUNTIME_API int cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                                 const void* function, int blocks,
                                                                 int threads) {
  return with_kernel(function, [&](Function kernel) {
    return cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads);
  });
}

GPUEMU_RUNTIME_API int cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                            const LaunchConfig* config) {
  return with_kernel(function, [&](Function kernel) -> int {
    libcuda::LaunchParameters what{};
    if (!parameters_of(config, what)) return cudaErrorInvalidValue;
    return cuOccupancyMaxPotentialClusterSize(blocks, kernel, &what);
  });
}

GPUEMU_RUNTIME_API int cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                      const LaunchConfig* config) {
  return with_kernel(function, [&](Function kernel) -> int {
    libcuda::LaunchParameters what{};
    if (!parameters_of(config, what)) return cudaErrorInvalidValue;
    return cuOccupancyMaxActiveClusters(clusters, kernel, &what);
  });
}

/// Describes a texture's elements; it needs no device.
GPUEMU_RUNTIME_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       ChannelKind kind) {
  return {x, y, z, w, kind};
}

}  // namespace gpuemu::libcudart
