// Implements cuCtx*: contexts and the context stack of each thread.
#include <algorithm>

#include "bindings/libcuda/calls/contexts.h"
#include "bindings/libcuda/memory/reach.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// Calls `work` with the current context. CUDA_ERROR_INVALID_CONTEXT when this thread has none,
/// CUDA_ERROR_CONTEXT_IS_DESTROYED when it was destroyed.
template <typename Work>
int with_context(const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto context = driver.contexts.find(current_context());
    return context == nullptr ? static_cast<int>(CUDA_ERROR_CONTEXT_IS_DESTROYED)
                              : work(driver, *context);
  });
}

/// Calls `work` with `context`, or with the current context when `context` is null.
template <typename Work>
int with_given_context(Context context, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  if (context == nullptr) return with_context(work);
  return driver_call([&](Process& driver) -> int {
    const auto found = driver.contexts.find(context);
    return found == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_CONTEXT) : work(driver, *found);
  });
}

int create(Context* context, unsigned flags, int device, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    if (context == nullptr || !are_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    if (driver.device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *context = make_context(driver, device, flags, false);
    context_stack().push_back(*context);
    return CUDA_SUCCESS;
  });
}

int synchronize(Process& driver, ContextState& context) {
  DeviceSlot& slot = *driver.devices[static_cast<size_t>(context.device)];
  const bool captures = !driver.streams
                             .which([&](const StreamState& one) {
                               return one.device == context.device && one.captures;
                             })
                             .empty();
  if (captures) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const Status waited = slot.streams->synchronize_all();
  if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
  driver.races.host_waited_for_device(context.device);
  return take_fault(slot, std::nullopt);
}

bool is_on_stack(Context context) {
  const auto& stack = context_stack();
  return std::ranges::find(stack, context) != stack.end();
}

}  // namespace

GPUEMU_DRIVER_API int cuCtxCreate(Context* context, unsigned flags, int device) {
  return create(context, flags, device);
}

GPUEMU_DRIVER_API int cuCtxCreate_v2(Context* context, unsigned flags, int device) {
  return create(context, flags, device);
}

GPUEMU_DRIVER_API int cuCtxCreate_v3(Context* context, const void* affinity, int count,
                                     unsigned flags, int device) {
  if (affinity != nullptr && count != 0) {
    return wrong_arguments(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  }
  return create(context, flags, device);
}

/// Ignores parameters that request nothing: programs of CUDA 13 pass such ones.
GPUEMU_DRIVER_API int cuCtxCreate_v4(Context* context, const ContextParameters* parameters,
                                     unsigned flags, int device) {
  if (parameters == nullptr) return create(context, flags, device);
  if (parameters->graphics != nullptr) return unsupported_call("cuCtxCreate for graphics");
  return cuCtxCreate_v3(context, parameters->affinity, parameters->affinity_count, flags, device);
}

GPUEMU_DRIVER_API int cuCtxDestroy_v2(Context context) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.contexts.find(context);
    if (state == nullptr || state->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (current_context() == context) context_stack().pop_back();
    destroy_context(driver, context);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxDestroy(Context context) { return cuCtxDestroy_v2(context); }

GPUEMU_DRIVER_API int cuCtxPushCurrent_v2(Context context) {
  return driver_call([&](Process& driver) -> int {
    if (driver.contexts.find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxPushCurrent(Context context) { return cuCtxPushCurrent_v2(context); }

GPUEMU_DRIVER_API int cuCtxPopCurrent_v2(Context* context) {
  return driver_call([&](Process&) -> int {
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = current_context();
    context_stack().pop_back();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxPopCurrent(Context* context) { return cuCtxPopCurrent_v2(context); }

GPUEMU_DRIVER_API int cuCtxSetCurrent(Context context) {
  return driver_call([&](Process& driver) -> int {
    std::vector<Context>& stack = context_stack();
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return CUDA_SUCCESS;
    }
    if (driver.contexts.find(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.empty()) stack.push_back(nullptr);
    stack.back() = context;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetCurrent(Context* context) {
  return driver_call([&](Process&) -> int {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetDevice_v2(int* device, Context context) {
  return with_given_context(context, [&](Process&, ContextState& state) -> int {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = state.device;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetDevice(int* device) { return cuCtxGetDevice_v2(device, nullptr); }

// NOLINTNEXTLINE(google-runtime-int): as the header has it.
GPUEMU_DRIVER_API int cuCtxGetId(Context context, unsigned long long* id) {
  return with_given_context(context, [&](Process&, ContextState& state) -> int {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = state.id;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetFlags(unsigned* flags) {
  return with_context([&](Process&, ContextState& state) -> int {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = state.flags;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxSetFlags(unsigned flags) {
  return with_context([&](Process&, ContextState& state) -> int {
    if (!are_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    state.flags = flags;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxSynchronize() { return with_context(synchronize); }

GPUEMU_DRIVER_API int cuCtxSynchronize_v2(Context context) {
  return with_given_context(context, synchronize);
}

GPUEMU_DRIVER_API int cuCtxGetLimit(size_t* value, unsigned limit) {
  return with_context([&](Process&, ContextState& state) -> int {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (limit >= kLimits) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = state.limits[limit];
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxSetLimit(unsigned limit, size_t value) {
  return with_context([&](Process&, ContextState& state) -> int {
    constexpr unsigned kSettable = 7;  // CU_LIMIT_SHMEM_SIZE and later are read-only.
    if (limit >= kSettable) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    state.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetCacheConfig(int* config) {
  return with_context([&](Process&, ContextState& state) -> int {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = state.cache_config;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxSetCacheConfig(int config) {
  return with_context([&](Process&, ContextState& state) -> int {
    if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
    state.cache_config = config;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetApiVersion(Context context, unsigned* version) {
  return with_given_context(context, [&](Process&, ContextState& state) -> int {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = state.api_version;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Process& driver, ContextState& state) -> int {
    const PriorityRange range =
        driver.devices[static_cast<size_t>(state.device)]->streams->priorities();
    if (least != nullptr) *least = range.least;
    if (greatest != nullptr) *greatest = range.greatest;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  return with_context([&](Process& driver, ContextState& state) -> int {
    const auto other = driver.contexts.find(peer);
    if (other == nullptr || peer == current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(state.peers_mutex);
    const bool is_new = state.peers.emplace(peer, other->device).second;
    if (!is_new) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (other->device == state.device) return CUDA_SUCCESS;
    const int code = open_peer(driver, state.device, other->device);
    if (code != CUDA_SUCCESS) state.peers.erase(peer);
    return code;
  });
}

GPUEMU_DRIVER_API int cuCtxDisablePeerAccess(Context peer) {
  return with_context([&](Process& driver, ContextState& state) -> int {
    const auto other = driver.contexts.find(peer);
    if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(state.peers_mutex);
    if (state.peers.erase(peer) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (other->device != state.device) close_peer(driver, state.device, other->device);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxResetPersistingL2Cache() {
  return with_context([](Process&, ContextState&) -> int { return CUDA_SUCCESS; });
}

GPUEMU_DRIVER_API int cuCtxAttach(Context* context, unsigned flags) {
  return with_context([&](Process&, ContextState&) -> int {
    if (context == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuCtxDetach(Context context) {
  return with_given_context(context, [&](Process&, ContextState&) -> int {
    return is_on_stack(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace gpuemu::libcuda
