// Implements cuStream*, host functions and stream capture.
#include <algorithm>
#include <functional>

#include "bindings/libcuda/calls/call_names.h"
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {
namespace {

using StreamCallback = void (*)(Stream stream, int code, void* data);

int make(Stream* stream, unsigned flags, int priority, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (stream == nullptr || (flags & ~kStreamNonBlocking) != 0) return CUDA_ERROR_INVALID_VALUE;
    const PriorityRange range = place.slot->streams->priorities();
    const int kept = std::clamp(priority, range.greatest, range.least);
    const auto made = place.slot->streams->make_stream(
        {.priority = kept, .non_blocking = (flags & kStreamNonBlocking) != 0});
    if (!made) return code_of(made.error());
    auto state = std::make_shared<StreamState>();
    state->context = place.context;
    state->device = place.device;
    state->id = *made;
    state->flags = flags;
    state->priority = kept;
    driver.races.stream_made({place.device, *made}, (flags & kStreamNonBlocking) != 0);
    *stream = driver.streams.add(std::move(state));
    return CUDA_SUCCESS;
  });
}

/// Calls `work` with the resolved stream, or returns the error of place_of().
template <typename Work>
int with_place(Stream stream, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const Place place = place_of(stream);
    return place.code != CUDA_SUCCESS ? place.code : work(driver, place);
  });
}

int capture_info(const Place& place, int* status, uint64_t* id) {
  constexpr int kNone = 0, kActive = 1, kInvalidated = 2;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = kNone;
  if (place.state == nullptr || !place.state->captures) return CUDA_SUCCESS;
  *status = place.state->capture_is_invalid ? kInvalidated : kActive;
  if (id != nullptr) *id = place.state->id;
  return CUDA_SUCCESS;
}

/// Issues a function of the host. It may tell a thread that what came before it is done.
int host_call(Process& driver, const Place& place, std::function<void()> work) {
  const auto stamp = is_captured(place) ? std::nullopt : driver.races.other_work(line_of(place));
  const auto run = [&driver, stamp, work = std::move(work)] {
    if (stamp) driver.races.host_function_runs(*stamp);
    work();
  };
  return code_in_stream(driver, place, place.slot->streams->host_call(place.stream, run));
}

/// Updates which streams are capturing: a stream that joined a capture leaves it when the capture
/// ends.
void follow_captures(Process& driver, const Place& place) {
  for (const Stream one : driver.streams.which(
           [&](const StreamState& state) { return state.device == place.device; })) {
    const auto state = driver.streams.find(one);
    if (state == nullptr) continue;
    const auto captures = place.slot->streams->is_capturing(state->id);
    state->captures = captures.ok() && *captures;
    if (!state->captures) state->capture_is_invalid = false;
  }
}

}  // namespace

GPUEMU_DRIVER_API int cuStreamCreate(Stream* stream, unsigned flags) {
  return make(stream, flags, 0);
}

GPUEMU_DRIVER_API int cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
  return make(stream, flags, priority);
}

GPUEMU_DRIVER_API int cuStreamDestroy_v2(Stream stream) {
  return driver_call([&](Process& driver) -> int {
    if (reinterpret_cast<uintptr_t>(stream) <= kStreamPerThread) return CUDA_ERROR_INVALID_HANDLE;
    const auto state = driver.streams.remove(stream);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    driver.races.stream_ended({state->device, state->id});
    return code_of(
        driver.devices[static_cast<size_t>(state->device)]->streams->free_stream(state->id));
  });
}

GPUEMU_DRIVER_API int cuStreamDestroy(Stream stream) { return cuStreamDestroy_v2(stream); }

GPUEMU_DRIVER_API int cuStreamQuery(Stream stream) {
  return with_place(stream, [](Process& driver, const Place& place) -> int {
    if (const int code = refuse_capture(driver, place); code != CUDA_SUCCESS) return code;
    const auto done = place.slot->streams->query(place.stream);
    if (!done) return code_of(done.error());
    if (!*done) return CUDA_ERROR_NOT_READY;
    driver.races.host_waited_for(line_of(place));
    return take_fault(*place.slot, place.stream);
  });
}
GPUEMU_PER_THREAD(cuStreamQuery, cuStreamQuery_ptsz)

GPUEMU_DRIVER_API int cuStreamSynchronize(Stream stream) {
  return with_place(stream, [](Process& driver, const Place& place) -> int {
    if (const int code = refuse_capture(driver, place); code != CUDA_SUCCESS) return code;
    const Status waited = place.slot->streams->synchronize(place.stream);
    if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
    driver.races.host_waited_for(line_of(place));
    return take_fault(*place.slot, place.stream);
  });
}
GPUEMU_PER_THREAD(cuStreamSynchronize, cuStreamSynchronize_ptsz)

GPUEMU_DRIVER_API int cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    const auto state = driver.events.find(event);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    constexpr unsigned kExternal = 1;
    if ((flags & ~kExternal) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (state->device != place.device) {
      const Status waited =
          driver.devices[static_cast<size_t>(state->device)]->streams->synchronize_event(state->id);
      driver.races.waits(line_of(place), state->id);
      return code_of(waited);
    }
    const Status waits = place.slot->streams->wait_event(place.stream, state->id);
    if (!waits && place.state != nullptr && place.state->captures) {
      place.state->capture_is_invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (place.state != nullptr) {
      const auto captures = place.slot->streams->is_capturing(place.stream);
      place.state->captures = captures.ok() && *captures;
    }
    if (waits && !is_captured(place)) driver.races.waits(line_of(place), state->id);
    return code_in_stream(driver, place, waits);
  });
}
GPUEMU_PER_THREAD(cuStreamWaitEvent, cuStreamWaitEvent_ptsz)

GPUEMU_DRIVER_API int cuStreamGetPriority(Stream stream, int* priority) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *priority = place.state == nullptr ? 0 : place.state->priority;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetPriority, cuStreamGetPriority_ptsz)

GPUEMU_DRIVER_API int cuStreamGetFlags(Stream stream, unsigned* flags) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = place.state == nullptr ? 0 : place.state->flags;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetFlags, cuStreamGetFlags_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCtx(Stream stream, Context* context) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = place.context;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetCtx, cuStreamGetCtx_ptsz)

/// Returns no green context: green contexts are not supported.
GPUEMU_DRIVER_API int cuStreamGetCtx_v2(Stream stream, Context* context, void** green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(stream, context);
}
GPUEMU_PER_THREAD(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz)

// NOLINTNEXTLINE(google-runtime-int): as the header has it.
GPUEMU_DRIVER_API int cuStreamGetId(Stream stream, unsigned long long* id) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = place.stream;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetId, cuStreamGetId_ptsz)

GPUEMU_DRIVER_API int cuStreamGetDevice(Stream stream, int* device) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = place.device;
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamGetDevice, cuStreamGetDevice_ptsz)

GPUEMU_DRIVER_API int cuStreamAddCallback(Stream stream, StreamCallback callback, void* data,
                                          unsigned flags) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (place.state != nullptr && place.state->captures) {
      place.state->capture_is_invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return host_call(driver, place, [=] { callback(stream, CUDA_SUCCESS, data); });
  });
}
GPUEMU_PER_THREAD(cuStreamAddCallback, cuStreamAddCallback_ptsz)

GPUEMU_DRIVER_API int cuLaunchHostFunc(Stream stream, void (*function)(void*), void* data) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return host_call(driver, place, [=] { function(data); });
  });
}
GPUEMU_PER_THREAD(cuLaunchHostFunc, cuLaunchHostFunc_ptsz)

GPUEMU_DRIVER_API int cuStreamIsCapturing(Stream stream, int* status) {
  return with_place(
      stream, [&](Process&, const Place& place) { return capture_info(place, status, nullptr); });
}
GPUEMU_PER_THREAD(cuStreamIsCapturing, cuStreamIsCapturing_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCaptureInfo(Stream stream, int* status, uint64_t* id) {
  return with_place(stream,
                    [&](Process&, const Place& place) { return capture_info(place, status, id); });
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz)

/// Does not return the graph under construction or its nodes, which are not accessible before the
/// capture ends.
GPUEMU_DRIVER_API int cuStreamGetCaptureInfo_v3(Stream stream, int* status, uint64_t* id,
                                                Graph* graph, const void** nodes,
                                                const void** edges, size_t* count) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    const bool captures = place.state != nullptr && place.state->captures;
    const bool asks = graph != nullptr || nodes != nullptr || edges != nullptr || count != nullptr;
    if (captures && asks) return unsupported_call("cuStreamGetCaptureInfo of the graph");
    return capture_info(place, status, id);
  });
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCaptureInfo_v2(Stream stream, int* status, uint64_t* id,
                                                Graph* graph, const void** nodes, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, nullptr, count);
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz)

GPUEMU_DRIVER_API int cuStreamBeginCapture_v2(Stream stream, int mode) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
    if (place.state == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (place.state->captures) return CUDA_ERROR_ILLEGAL_STATE;
    const Status began = place.slot->streams->begin_capture(place.stream);
    if (!began) return code_of(began);
    follow_captures(driver, place);
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz)

GPUEMU_DRIVER_API int cuStreamBeginCapture(Stream stream) {
  return cuStreamBeginCapture_v2(stream, 0);
}
GPUEMU_PER_THREAD(cuStreamBeginCapture, cuStreamBeginCapture_ptsz)

GPUEMU_DRIVER_API int cuStreamEndCapture(Stream stream, Graph* graph) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (place.state == nullptr || !place.state->captures) return CUDA_ERROR_ILLEGAL_STATE;
    const bool invalid = place.state->capture_is_invalid;
    const auto made = place.slot->streams->end_capture(place.stream);
    follow_captures(driver, place);
    if (!made) {
      return invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    if (invalid) {
      (void)code_of(place.slot->streams->free_graph(*made));
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *graph = driver.graphs.add(std::make_shared<GraphState>(GraphState{place.device, *made}));
    return CUDA_SUCCESS;
  });
}
GPUEMU_PER_THREAD(cuStreamEndCapture, cuStreamEndCapture_ptsz)

GPUEMU_DRIVER_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  return driver_call([&](Process&) -> int {
    thread_local int mode_of_thread = 0;
    if (mode == nullptr || *mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, mode_of_thread);
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
