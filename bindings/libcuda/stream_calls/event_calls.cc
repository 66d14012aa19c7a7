// Implements cuEvent*.
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

template <typename Work>
int with_event(Event event, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.events.find(event);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return work(driver, *state, *driver.devices[static_cast<size_t>(state->device)]);
  });
}

/// Makes the capture invalid, for a call about an event that was recorded in a capture.
int refuse_captured(EventState& event) {
  const std::lock_guard lock(graphs_mutex());
  if (event.captured.capture != nullptr) event.captured.capture->is_invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

GPUEMU_DRIVER_API int cuEventCreate(Event* event, unsigned flags) {
  return driver_call([&](Process& driver) -> int {
    constexpr unsigned kAll = 0x7, kDisableTiming = 2, kInterprocess = 4;
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (event == nullptr || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & kInterprocess) != 0) {
      return unsupported_call("cuEventCreate for several processes");
    }
    const auto made = place.slot->streams->make_event();
    if (!made) return code_of(made.error());
    auto state = std::make_shared<EventState>();
    state->context = place.context;
    state->device = place.device;
    state->id = *made;
    state->has_no_time = (flags & kDisableTiming) != 0;
    *event = driver.events.add(std::move(state));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuEventRecord(Event event, Stream stream) {
  return with_event(event, [&](Process& driver, EventState& state, DeviceSlot&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (place.device != state.device) return CUDA_ERROR_INVALID_HANDLE;
    state.is_recorded = true;
    if (is_captured(place)) {
      const std::lock_guard lock(graphs_mutex());
      state.captured = place.state->captured;
      state.is_captured = true;
      return CUDA_SUCCESS;
    }
    if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
    state.is_captured = false;
    driver.races.recorded(state.id, line_of(place));
    return code_in_stream(driver, place, place.slot->streams->record(state.id, place.stream));
  });
}
GPUEMU_PER_THREAD(cuEventRecord, cuEventRecord_ptsz)

/// With the flag for external events a captured record becomes a node of the graph.
GPUEMU_DRIVER_API int cuEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  constexpr unsigned kExternal = 1;
  if ((flags & ~kExternal) != 0) return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  if ((flags & kExternal) == 0) return cuEventRecord(event, stream);
  return with_event(event, [&](Process&, EventState& state, DeviceSlot&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (place.device != state.device) return CUDA_ERROR_INVALID_HANDLE;
    return is_captured(place) ? capture_work(place, RecordWork{event}, "cuEventRecordWithFlags")
                              : cuEventRecord(event, stream);
  });
}
GPUEMU_PER_THREAD(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz)

GPUEMU_DRIVER_API int cuEventQuery(Event event) {
  return with_event(event, [](Process& driver, EventState& state, DeviceSlot& slot) -> int {
    if (state.is_captured) return refuse_captured(state);
    const auto done = slot.streams->query_event(state.id);
    if (!done) return code_of(done.error());
    if (!*done) return CUDA_ERROR_NOT_READY;
    driver.races.host_waited_for_event(state.id);
    return take_fault(slot, std::nullopt);
  });
}

GPUEMU_DRIVER_API int cuEventSynchronize(Event event) {
  return with_event(event, [](Process& driver, EventState& state, DeviceSlot& slot) -> int {
    if (state.is_captured) return refuse_captured(state);
    const Status waited = slot.streams->synchronize_event(state.id);
    if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
    driver.races.host_waited_for_event(state.id);
    return take_fault(slot, std::nullopt);
  });
}

GPUEMU_DRIVER_API int cuEventDestroy_v2(Event event) {
  return with_event(event, [&](Process& driver, EventState& state, DeviceSlot& slot) -> int {
    driver.events.remove(event);
    driver.races.event_ended(state.id);
    return code_of(slot.streams->free_event(state.id));
  });
}

GPUEMU_DRIVER_API int cuEventDestroy(Event event) { return cuEventDestroy_v2(event); }

GPUEMU_DRIVER_API int cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  return with_event(from, [&](Process& driver, EventState& first, DeviceSlot& slot) -> int {
    const auto second = driver.events.find(to);
    if (second == nullptr || second->device != first.device) return CUDA_ERROR_INVALID_HANDLE;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool timed =
        !first.has_no_time && !second->has_no_time && first.is_recorded && second->is_recorded;
    if (!timed) return CUDA_ERROR_INVALID_HANDLE;
    if (first.is_captured) return refuse_captured(first);
    if (second->is_captured) return refuse_captured(*second);
    for (const EventId one : {first.id, second->id}) {
      const auto done = slot.streams->query_event(one);
      if (!done) return code_of(done.error());
      if (!*done) return CUDA_ERROR_NOT_READY;
    }
    const auto elapsed = slot.streams->elapsed_ms(first.id, second->id);
    if (!elapsed) return code_of(elapsed.error());
    *milliseconds = *elapsed;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuEventElapsedTime_v2(float* milliseconds, Event from, Event to) {
  return cuEventElapsedTime(milliseconds, from, to);
}

}  // namespace gpuemu::libcuda
