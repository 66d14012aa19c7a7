// Copies and fills memory in stream order, and enforces the rules of stream capture.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

inline std::byte* bytes_at(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

/// One end of a copy.
struct End {
  bool of_host = false;
  uint64_t address = 0;
};
inline End host_end(const void* memory) { return {true, reinterpret_cast<uint64_t>(memory)}; }
inline End device_end(uint64_t address) { return {false, address}; }
/// Returns the end at a unified address: device memory, or else memory of the host.
End any_end(uint64_t address);

/// The driver function that requests a transfer; `waits` is true for synchronous ones.
struct Transfer {
  const char* call = "";
  bool waits = false;
  bool is_part = false;  ///< The caller has already called note_transfer() for the whole.
  /// If not null, the transfer is not done; only its accesses are added here.
  std::vector<TouchedRange>* told = nullptr;
};

/// Adds the accesses of one copy of `bytes` bytes for the race watch, except memory that only the
/// host uses.
void add_ranges(Process& driver, End to, End from, uint64_t bytes,
                std::vector<TouchedRange>& ranges);
/// Reports the accesses of a copy or fill to the race watch before it starts.
void note_transfer(Process& driver, const Place& place, const Transfer& transfer,
                   const std::vector<TouchedRange>& ranges);

/// Copies `bytes` bytes. Returns CUDA_SUCCESS; CUDA_ERROR_INVALID_VALUE for a range that
/// check_device_range() refuses; a capture error; or, when it waits, the fault of an earlier
/// kernel. All functions here are thread-safe.
int copy(const Place& place, End to, End from, uint64_t bytes, Transfer transfer);
/// Sets `count` elements of `bytes` bytes (1, 2 or 4) to `value`. Errors are those of copy(); an
/// unaligned address is CUDA_ERROR_INVALID_VALUE.
int fill(const Place& place, uint64_t address, unsigned value, unsigned bytes, uint64_t count,
         Transfer transfer);

/// Records the undefined values that the host gets when it reads these bytes of the device in
/// `call`.
void host_gets(Process& driver, const Place& place, uint64_t address, uint64_t bytes,
               const char* call);

/// Waits for the stream's work, so that its accesses to memory that the host uses are known before
/// the host continues. The wait is limited, because the work may wait for the host.
void let_finish(Process& driver, const Place& place);
/// Does that if one of the ranges is in such memory and the work is in a stream.
void finish_if_shared(Process& driver, const Place& place, const std::vector<TouchedRange>& ranges);

/// Adds the work as a node of the graph that the stream of `place` captures. Returns CUDA_SUCCESS,
/// or CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if the capture is invalid. `call` requested the work.
int capture_work(const Place& place, NodeWork work, const char* call);
/// Returns true if a capture began with this stream and has not ended.
bool began_capture(const StreamState& stream);
/// Makes the capture of the stream invalid, if there is one.
void invalidate_capture(StreamState& stream);
/// For a call that cannot be captured: invalidates the capture that it would join and returns
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED or CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; CUDA_SUCCESS when
/// there is no such capture.
int refuse_capture(Process& driver, const Place& place);
/// For a call that may wait for the device, such as one that allocates or frees: it is not allowed
/// while a stream captures, and makes that capture invalid, unless the modes of the capture and of
/// this thread allow it. Returns CUDA_SUCCESS or CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
int refuse_unsafe(Process& driver);
/// Like refuse_capture(), for work that may be captured, but not in the default stream.
inline int refuse_implicit(Process& driver, const Place& place) {
  return place.stream == kDefaultStream ? refuse_capture(driver, place)
                                        : static_cast<int>(CUDA_SUCCESS);
}
/// Translates the status of stream work to a CUresult, capture errors included.
int code_in_stream(Process& driver, const Place& place, const Status& status);

}  // namespace gpuemu::libcuda
