// Implements writes of values in stream order, and waits for them.
#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/transfer.h"
#include "runtime/emulator/streams.h"

namespace gpuemu::libcuda {
namespace {

/// CUstreamWaitValue_flags. The flush makes writes of other devices visible, which they always are
/// here.
enum WaitCondition : unsigned { kAtLeast, kEqual, kAnd, kNor };
constexpr unsigned kFlush = 1u << 30;

template <typename Value>
int write_value(Stream stream, Address address, Value value, unsigned flags,
                const char* call = __builtin_FUNCTION()) {
  return with_place(
      stream,
      [&](Process& driver, const Place& place) -> int {
        constexpr unsigned kNoBarrier = 1;
        if (address % sizeof value != 0 || (flags & ~kNoBarrier) != 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        if (is_captured(place)) return refuse_capture(driver, place);
        const int code =
            copy(place, device_end(address), host_end(&value), sizeof value, {call, false});
        if (code == CUDA_SUCCESS) driver.races.value_written(address, value, line_of(place));
        return code;
      },
      call);
}

template <typename Value>
bool is_met(Value now, Value value, unsigned condition) {
  switch (condition) {
    case kAtLeast:  // Compares with wrap-around.
      return static_cast<std::make_signed_t<Value>>(now - value) >= 0;
    case kEqual:
      return now == value;
    case kAnd:
      return (now & value) != 0;
    default:
      return static_cast<Value>(~(now | value)) != 0;
  }
}

template <typename Value>
int wait_value(Stream stream, Address address, Value value, unsigned flags,
               const char* call = __builtin_FUNCTION()) {
  return with_place(
      stream,
      [&](Process& driver, const Place& place) -> int {
        const unsigned condition = flags & ~kFlush;
        if (address % sizeof value != 0 || condition > kNor) return CUDA_ERROR_INVALID_VALUE;
        if (is_captured(place)) return refuse_capture(driver, place);
        if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
        if (!check_device_range(driver, address, sizeof value, call)) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        const auto is_met_by = [=](uint64_t now) {
          return is_met(static_cast<Value>(now), value, condition);
        };
        // All devices here are emulated.
        auto& streams = static_cast<emulator::EmulatorStreams&>(*place.slot->streams);
        const Status waits = streams.wait_value(place.stream, address, sizeof value, is_met_by);
        if (waits) driver.races.value_awaited(address, is_met_by, line_of(place));
        return code_in_stream(driver, place, waits);
      },
      call);
}

}  // namespace

#define GPUEMU_VALUE_CALLS(bits, suffix)                                                         \
  GPUEMU_DRIVER_API int cuStreamWriteValue##bits##suffix(Stream stream, Address address,         \
                                                         uint##bits##_t value, unsigned flags) { \
    return write_value(stream, address, value, flags, "cuStreamWriteValue" #bits);               \
  }                                                                                              \
  GPUEMU_DRIVER_API int cuStreamWaitValue##bits##suffix(Stream stream, Address address,          \
                                                        uint##bits##_t value, unsigned flags) {  \
    return wait_value(stream, address, value, flags, "cuStreamWaitValue" #bits);                 \
  }                                                                                              \
  GPUEMU_PER_THREAD(cuStreamWriteValue##bits##suffix, cuStreamWriteValue##bits##suffix##_ptsz)   \
  GPUEMU_PER_THREAD(cuStreamWaitValue##bits##suffix, cuStreamWaitValue##bits##suffix##_ptsz)
GPUEMU_VALUE_CALLS(32, )
GPUEMU_VALUE_CALLS(32, _v2)
GPUEMU_VALUE_CALLS(64, )
GPUEMU_VALUE_CALLS(64, _v2)
#undef GPUEMU_VALUE_CALLS

}  // namespace gpuemu::libcuda
