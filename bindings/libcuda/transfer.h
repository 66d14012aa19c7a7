// Copies and fills in the order of streams.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// One end of a copy.
struct End {
  bool of_host = false;
  uint64_t address = 0;
};
inline End host_end(const void* memory) { return {true, reinterpret_cast<uint64_t>(memory)}; }
inline End device_end(uint64_t address) { return {false, address}; }
/// What lies at an address that is one for both.
End any_end(const Place& place, uint64_t address);

/// `waits` for calls without Async.
struct Transfer {
  const char* call = "";
  bool waits = false;
};

/// A CUresult of each.
int copy(const Place& place, End to, End from, uint64_t bytes, Transfer transfer);
/// `count` elements of `bytes` bytes (1, 2 or 4), all with this value.
int fill(const Place& place, uint64_t address, unsigned value, unsigned bytes, uint64_t count,
         Transfer transfer);

/// What a call that must not be captured gives while a stream is: spoils the capture. Success where
/// none is concerned.
int refuse_capture(Process& driver, const Place& place);
/// What a call of the stream made of `status`.
int code_in_stream(Process& driver, const Place& place, const Status& status);

}  // namespace gpuemu::libcuda
