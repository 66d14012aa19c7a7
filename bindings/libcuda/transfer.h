// Copies and fills memory in stream order, and keeps the rules of stream capture.
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

/// The driver function that asks for a transfer; `waits` is true for the synchronous ones.
struct Transfer {
  const char* call = "";
  bool waits = false;
  bool is_part = false;  ///< The caller has told note_transfer() of the whole.
  /// Not null: only what the transfer touches is wanted, there.
  std::vector<TouchedRange>* told = nullptr;
};

/// One copy of `bytes` bytes as the watch for races sees it; memory that only the host uses is left
/// out.
void add_ranges(Process& driver, End to, End from, uint64_t bytes,
                std::vector<TouchedRange>& ranges);
/// Tells the watch for races what a copy or fill is going to touch.
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

/// Records what the host gets of undefined values when it reads these bytes of the device in
/// `call`.
void host_gets(Process& driver, const Place& place, uint64_t address, uint64_t bytes,
               const char* call);

/// Waits until the stream has done its work, so that its accesses of memory that the host uses are
/// known before the host goes on. Not for ever: the work may wait for the host.
void let_finish(Process& driver, const Place& place);
/// Does that where one of the ranges lies in such memory and the work is in a stream.
void finish_if_shared(Process& driver, const Place& place, const std::vector<TouchedRange>& ranges);

/// Makes the work a node of the graph that the stream of `place` captures. Returns CUDA_SUCCESS, or
/// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED when the capture is invalid. `call` made the work.
int capture_work(const Place& place, NodeWork work, const char* call);
/// Whether a capture began with this stream, and is not over.
bool began_capture(const StreamState& stream);
/// Makes the capture of the stream invalid, if there is one.
void invalidate_capture(StreamState& stream);
/// For a call that cannot be captured: invalidates the capture that it would join and returns
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED or CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; CUDA_SUCCESS when
/// there is no such capture.
int refuse_capture(Process& driver, const Place& place);
/// For a call that may wait for the device, as those that allocate and free: it is not allowed
/// while a stream captures, and makes that capture invalid, unless the modes of the capture and of
/// this thread allow it. Returns CUDA_SUCCESS or CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
int refuse_unsafe(Process& driver);
/// As refuse_capture(), for work that may be captured, but not in the default stream.
inline int refuse_implicit(Process& driver, const Place& place) {
  return place.stream == kDefaultStream ? refuse_capture(driver, place)
                                        : static_cast<int>(CUDA_SUCCESS);
}
/// Translates the status of stream work to a CUresult, capture errors included.
int code_in_stream(Process& driver, const Place& place, const Status& status);

}  // namespace gpuemu::libcuda
