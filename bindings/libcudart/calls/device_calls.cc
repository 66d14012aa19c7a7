// Implements cudaDevice*, cudaSetDevice and its relatives, versions and entry points.
#include "bindings/libcudart/calls/device_properties.h"
#include "bindings/libcudart/calls/unsupported.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

/// Returns true if there is a device with this number.
bool has_device(int device) {
  int count = 0;
  return cuDeviceGetCount(&count) == cudaSuccess && device >= 0 && device < count;
}

template <typename Work>
int with_device(int device, const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call_without_context(
      [&]() -> int { return has_device(device) ? work() : cudaErrorInvalidDevice; }, call);
}

int make_current(int device) {
  Context context = nullptr;
  const int retained = cuDevicePrimaryCtxRetain(&context, device);
  if (retained != cudaSuccess) return retained;
  thread_state().device = device;
  return cuCtxSetCurrent(context);
}

/// Calls `work` with the primary context of the peer, which is another device than the current one.
template <typename Work>
int with_peer(int peer, const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        Context context = nullptr;
        int own = 0;
        (void)cuCtxGetDevice(&own);
        if (!has_device(peer) || peer == own) return cudaErrorInvalidDevice;
        const int retained = cuDevicePrimaryCtxRetain(&context, peer);
        return retained == cudaSuccess ? work(context) : retained;
      },
      call);
}

/// Finds a function of the driver; `look_up` is cuGetProcAddress of the program's default stream.
int entry_point(decltype(&cuGetProcAddress_v2) look_up, const char* name, void** function,
                int version, uint64_t flags, int* status, const char* call = __builtin_FUNCTION()) {
  return runtime_call_without_context(
      [&]() -> int {
        if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
        return look_up(name, function, version, flags, status);
      },
      call);
}

}  // namespace

int unsupported_call(const char* name) {
  hooks().unsupported(name);
  return finish(cudaErrorNotSupported);
}

GPUEMU_RUNTIME_API int cudaGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return runtime_call_without_context([&] { return cuDeviceGetCount(count); });
}

GPUEMU_RUNTIME_API int cudaGetDevice(int* device) {
  return runtime_call_without_context([&]() -> int {
    if (device == nullptr) return cudaErrorInvalidValue;
    if (cuCtxGetDevice(device) != cudaSuccess) *device = thread_state().device;
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaSetDevice(int device) {
  return with_device(device, [&] { return make_current(device); });
}

/// The first device of the list becomes that of threads that choose none.
GPUEMU_RUNTIME_API int cudaSetValidDevices(const int* devices, int count) {
  return runtime_call_without_context([&]() -> int {
    if (count < 0 || (count != 0 && devices == nullptr)) return cudaErrorInvalidValue;
    for (int i = 0; i < count; ++i) {
      if (!has_device(devices[i])) return cudaErrorInvalidDevice;
    }
    first_device() = count == 0 ? 0 : devices[0];
    int chosen = 0;
    if (cuCtxGetDevice(&chosen) != cudaSuccess) thread_state().device = first_device();
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaInitDevice(int device, unsigned flags, unsigned) {
  return with_device(device, [&]() -> int {
    if (flags != 0) (void)cuDevicePrimaryCtxSetFlags_v2(device, flags);
    Context context = nullptr;
    return cuDevicePrimaryCtxRetain(&context, device);
  });
}

GPUEMU_RUNTIME_API int GPUEMU_LATER(cudaGetDeviceProperties, 2)(DeviceProperties* properties,
                                                                int device) {
  return with_device(device, [&]() -> int {
    if (properties == nullptr) return cudaErrorInvalidValue;
    fill_properties(*properties, device);
    return cudaSuccess;
  });
}

/// Chooses the first device with at least the requested compute capability.
GPUEMU_RUNTIME_API int cudaChooseDevice(int* device, const DeviceProperties* wanted) {
  return runtime_call_without_context([&]() -> int {
    if (device == nullptr || wanted == nullptr) return cudaErrorInvalidValue;
    for (*device = 0; has_device(*device); ++*device) {
      DeviceProperties has{};
      fill_properties(has, *device);
      if (has.major * 10 + has.minor >= wanted->major * 10 + wanted->minor) return cudaSuccess;
    }
    *device = 0;
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return with_device(device, [&] { return cuDeviceGetAttribute(value, attribute, device); });
}

GPUEMU_RUNTIME_API int cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  return with_device(device, [&] { return cuDeviceGetPCIBusId(id, bytes, device); });
}

GPUEMU_RUNTIME_API int cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return runtime_call_without_context([&] { return cuDeviceGetByPCIBusId(device, id); });
}

GPUEMU_RUNTIME_API int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return runtime_call_without_context([&] { return cuDeviceCanAccessPeer(can, device, peer); });
}

GPUEMU_RUNTIME_API int cudaDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  return runtime_call_without_context(
      [&] { return cuDeviceGetP2PAttribute(value, attribute, from, to); });
}

GPUEMU_RUNTIME_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return with_peer(peer, [&](Context context) { return cuCtxEnablePeerAccess(context, flags); });
}

GPUEMU_RUNTIME_API int cudaDeviceDisablePeerAccess(int peer) {
  return with_peer(peer, [](Context context) { return cuCtxDisablePeerAccess(context); });
}

GPUEMU_RUNTIME_API int cudaSetDeviceFlags(unsigned flags) {
  return runtime_call_without_context(
      [&] { return cuDevicePrimaryCtxSetFlags_v2(thread_state().device, flags); });
}

GPUEMU_RUNTIME_API int cudaGetDeviceFlags(unsigned* flags) {
  return runtime_call_without_context([&]() -> int {
    int is_active = 0;
    if (flags == nullptr) return cudaErrorInvalidValue;
    return cuDevicePrimaryCtxGetState(thread_state().device, flags, &is_active);
  });
}

GPUEMU_RUNTIME_API int cudaDeviceReset() {
  return runtime_call([]() -> int {
    int device = 0;
    (void)cuCtxGetDevice(&device);
    return cuDevicePrimaryCtxReset_v2(device);
  });
}

GPUEMU_RUNTIME_FORWARD(cudaDeviceSynchronize, (), cuCtxSynchronize, ())
GPUEMU_RUNTIME_FORWARD(cudaDeviceSetLimit, (unsigned limit, size_t value), cuCtxSetLimit,
                       (limit, value))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetLimit, (size_t* value, unsigned limit), cuCtxGetLimit,
                       (value, limit))
GPUEMU_RUNTIME_FORWARD(cudaDeviceSetCacheConfig, (int config), cuCtxSetCacheConfig, (config))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetCacheConfig, (int* config), cuCtxGetCacheConfig, (config))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest),
                       cuCtxGetStreamPriorityRange, (least, greatest))
GPUEMU_RUNTIME_FORWARD(cudaCtxResetPersistingL2Cache, (), cuCtxResetPersistingL2Cache, ())

GPUEMU_RUNTIME_API int cudaDriverGetVersion(int* version) {
  const CallScope scope("cudaDriverGetVersion");
  return finish(cuDriverGetVersion(version));
}

GPUEMU_RUNTIME_API int cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return finish(cudaErrorInvalidValue);
  *version = kRuntimeVersion;
  return cudaSuccess;
}

GPUEMU_RUNTIME_API int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                        unsigned version, uint64_t flags,
                                                        int* status) {
  return entry_point(&cuGetProcAddress_v2, name, function, static_cast<int>(version), flags,
                     status);
}

GPUEMU_RUNTIME_API int cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** function,
                                                             unsigned version, uint64_t flags,
                                                             int* status) {
  return entry_point(&cuGetProcAddress_v2_ptsz, name, function, static_cast<int>(version), flags,
                     status);
}

GPUEMU_RUNTIME_API int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags,
                                               int* status) {
  return entry_point(&cuGetProcAddress_v2, name, function, kRuntimeVersion, flags, status);
}

GPUEMU_RUNTIME_API int cudaGetDriverEntryPoint_ptsz(const char* name, void** function,
                                                    uint64_t flags, int* status) {
  return entry_point(&cuGetProcAddress_v2_ptsz, name, function, kRuntimeVersion, flags, status);
}

}  // namespace gpuemu::libcudart
