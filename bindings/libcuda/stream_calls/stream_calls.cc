// Implements cuStream* and host functions.
#include <algorithm>
#include <functional>

#include "bindings/libcuda/memory/transfer.h"

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

/// Makes the stream join the capture, for a wait of a stream or for an event of a capture.
int wait_in_capture(const Place& place, const EventState& event) {
  const std::lock_guard lock(graphs_mutex());
  const std::shared_ptr<Capture> of_event = event.is_captured ? event.captured.capture : nullptr;
  const std::shared_ptr<Capture> of_stream =
      place.state == nullptr ? nullptr : place.state->captured.capture;
  if (of_stream != nullptr && of_event != of_stream) {
    of_stream->is_invalid = true;
    const bool merges = of_event != nullptr && !of_event->is_over;
    return merges ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (of_event == nullptr || of_event->is_over) return CUDA_ERROR_INVALID_VALUE;
  if (of_event->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (place.state == nullptr) {
    of_event->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  Captured& stream = place.state->captured;
  stream.capture = of_event;
  place.state->captures = true;
  join(stream, event.captured.tips);
  return CUDA_SUCCESS;
}

/// Issues a host function. It may signal to a thread that earlier work is done.
int host_call(Process& driver, const Place& place, std::function<void()> work) {
  if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
  const auto stamp = driver.races.other_work(line_of(place));
  const auto run = [&driver, stamp, work = std::move(work)] {
    const CalledByStream called;
    if (!stamp) return work();
    driver.races.host_function_runs(*stamp);
    const HostFunction function(*stamp);
    driver.host_pages.take(driver.races.pages_in_use());
    work();
    driver.host_pages.give_back();
  };
  const Status issued = place.slot->streams->host_call(place.stream, run);
  if (issued && driver.races.follows_host()) let_finish(driver, place);
  return code_in_stream(driver, place, issued);
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
    // Work of a stream that only joined a capture stays in the graph.
    if (began_capture(*state)) invalidate_capture(*state);
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
    if (is_captured(place) && (flags & kExternal) != 0) {
      return capture_work(place, WaitWork{event}, "cuStreamWaitEvent");
    }
    if (is_captured(place) || state->is_captured) return wait_in_capture(place, *state);
    if (state->device != place.device) {
      const Status waited =
          driver.devices[static_cast<size_t>(state->device)]->streams->synchronize_event(state->id);
      driver.races.waits(line_of(place), state->id);
      return code_of(waited);
    }
    if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
    const Status waits = place.slot->streams->wait_event(place.stream, state->id);
    if (waits) driver.races.waits(line_of(place), state->id);
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
    if (is_captured(place)) return refuse_capture(driver, place);
    return host_call(driver, place, [=] { callback(stream, CUDA_SUCCESS, data); });
  });
}
GPUEMU_PER_THREAD(cuStreamAddCallback, cuStreamAddCallback_ptsz)

GPUEMU_DRIVER_API int cuLaunchHostFunc(Stream stream, void (*function)(void*), void* data) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (is_captured(place)) {
      return capture_work(place, HostWork{{function, data}}, "cuLaunchHostFunc");
    }
    return host_call(driver, place, [=] { function(data); });
  });
}
GPUEMU_PER_THREAD(cuLaunchHostFunc, cuLaunchHostFunc_ptsz)

}  // namespace gpuemu::libcuda
