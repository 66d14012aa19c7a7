// Implements kernel launches: the <<<>>> statement as compiled by nvcc, and cudaLaunch*.
#include <algorithm>
#include <limits>
#include <utility>

#include "bindings/libcudart/calls/launch_config.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

/// Takes the site of the launch statement that the thread executes; null outside of one.
void* take_site() { return std::exchange(thread_state().launch_site, nullptr); }

struct Launch {
  Extent3 grid, block;
  size_t shared_bytes;
  Stream stream;
  bool is_cooperative = false;
};

unsigned attribute_of_device(int attribute) {
  int device = 0, value = 0;
  (void)cuCtxGetDevice(&device);
  (void)cuDeviceGetAttribute(&value, attribute, device);
  return static_cast<unsigned>(value);
}

/// Returns true if every device rejects a grid or block of this size.
bool is_refused(const Extent3& grid, const Extent3& block) {
  const auto is_beyond = [](unsigned size, int attribute) {
    return size == 0 || size > attribute_of_device(attribute);
  };
  // The numbers are those of CU_DEVICE_ATTRIBUTE_*.
  constexpr int kThreadsMax = 1, kBlockMax = 2, kGridMax = 5;
  return is_beyond(block.x, kBlockMax) || is_beyond(block.y, kBlockMax + 1) ||
         is_beyond(block.z, kBlockMax + 2) || is_beyond(grid.x, kGridMax) ||
         is_beyond(grid.y, kGridMax + 1) || is_beyond(grid.z, kGridMax + 2) ||
         is_beyond(block.x * block.y * block.z, kThreadsMax);
}

/// CUDA 12 has a special error for a grid or block that no device accepts.
int error_of_launch(int code, const Extent3& grid, const Extent3& block) {
  const bool has_own = kIsRuntime12 && code == cudaErrorInvalidValue && is_refused(grid, block);
  return has_own ? static_cast<int>(cudaErrorInvalidConfiguration) : code;
}

/// Counts a launch that never reaches the driver, whose own failures are counted there.
int reject(int code) {
  hooks().launch_rejected();
  return code;
}

int launch_found(const FoundKernel& found, const Launch& what, void** arguments) {
  if (found.code != cudaSuccess) return reject(found.code);
  constexpr size_t kMost = std::numeric_limits<unsigned>::max();  // More than any device has.
  const auto shared = static_cast<unsigned>(std::min(what.shared_bytes, kMost));
  auto* const function = reinterpret_cast<Function>(found.kernel);
  const auto& [grid, block] = std::pair(what.grid, what.block);
  const int code = what.is_cooperative
                       ? cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x,
                                                   block.y, block.z, shared, what.stream, arguments)
                       : cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        shared, what.stream, arguments, nullptr);
  return error_of_launch(code, grid, block);
}

/// Launches the kernel. Remembers the failure of a launch statement, because the program does not
/// get its code.
int launch(const void* kernel, const Launch& what, void** arguments,
           const char* call = __builtin_FUNCTION()) {
  void* const site = take_site();
  if (site != nullptr) call = "<<<>>>";
  std::string name;
  const int code = runtime_call(
      [&]() -> int {
        const FoundKernel found = find_kernel(kernel);
        name = found.name;
        hooks().launch_from(site);
        const int launched = launch_found(found, what, arguments);
        hooks().launch_from(nullptr);
        return launched;
      },
      call);
  if (site == nullptr) return code;
  if (code == cudaSuccess) {
    hooks().free_site(site);
  } else {
    note_failed_launch(site, name, code);
  }
  return code;
}

}  // namespace

GPUEMU_RUNTIME_API unsigned __cudaPushCallConfiguration(Extent3 grid, Extent3 block,
                                                        size_t shared_bytes, Stream stream) {
  thread_state().configurations.push_back({grid, block, shared_bytes, stream, hooks().note_site()});
  return 0;
}

GPUEMU_RUNTIME_API int __cudaPopCallConfiguration(Extent3* grid, Extent3* block,
                                                  size_t* shared_bytes, Stream* stream) {
  ThreadState& state = thread_state();
  if (state.configurations.empty()) return finish(cudaErrorMissingConfiguration);
  const Configuration last = state.configurations.back();
  state.configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *stream = last.stream;
  if (void* const unused = std::exchange(state.launch_site, last.site)) hooks().free_site(unused);
  return cudaSuccess;
}

/// Returns the kernel of a host function. If it cannot be loaded, returns the host function
/// instead, so that the launch reports the reason.
GPUEMU_RUNTIME_API int __cudaGetKernel(Kernel* kernel, const void* function) {
  if (kernel == nullptr) return cudaErrorInvalidValue;
  const CallScope scope("__cudaGetKernel");
  int code = start();
  if (code == cudaSuccess) code = enter();
  const FoundKernel found =
      code == cudaSuccess ? find_kernel(function) : FoundKernel{code, nullptr, {}};
  *kernel =
      found.code == cudaSuccess ? found.kernel : static_cast<Kernel>(const_cast<void*>(function));
  return cudaSuccess;
}

#if GPUEMU_RUNTIME_MAJOR != 12  // The host code of CUDA 12 calls cudaLaunchKernel.
GPUEMU_RUNTIME_API int __cudaLaunchKernel(Kernel kernel, Extent3 grid, Extent3 block,
                                          void** arguments, size_t shared_bytes, Stream stream) {
  return launch(reinterpret_cast<const void*>(kernel), {grid, block, shared_bytes, stream},
                arguments);
}
GPUEMU_RUNTIME_PER_THREAD(__cudaLaunchKernel, __cudaLaunchKernel_ptsz)
#endif

GPUEMU_RUNTIME_API int cudaLaunchKernel(const void* function, Extent3 grid, Extent3 block,
                                        void** arguments, size_t shared_bytes, Stream stream) {
  return launch(function, {grid, block, shared_bytes, stream}, arguments);
}
GPUEMU_RUNTIME_PER_THREAD(cudaLaunchKernel, cudaLaunchKernel_ptsz)

GPUEMU_RUNTIME_API int cudaLaunchCooperativeKernel(const void* function, Extent3 grid,
                                                   Extent3 block, void** arguments,
                                                   size_t shared_bytes, Stream stream) {
  return launch(function, {grid, block, shared_bytes, stream, true}, arguments);
}
GPUEMU_RUNTIME_PER_THREAD(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz)

GPUEMU_RUNTIME_API int cudaLaunchKernelExC(const LaunchConfig* config, const void* function,
                                           void** arguments) {
  return runtime_call([&]() -> int {
    const FoundKernel found = find_kernel(function);
    if (found.code != cudaSuccess) return reject(found.code);
    libcuda::LaunchParameters what{};
    if (!parameters_of(config, what)) return reject(cudaErrorInvalidValue);
    const int code =
        cuLaunchKernelEx(&what, reinterpret_cast<Function>(found.kernel), arguments, nullptr);
    return error_of_launch(code, config->grid, config->block);
  });
}
GPUEMU_RUNTIME_PER_THREAD(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz)

}  // namespace gpuemu::libcudart
