// What the interface has and this library has not: one function for each name, of which those that
// are there take the place.
#include "bindings/libcuda/call_names.h"

extern "C" {
#define GPUEMU_MISSING(name, symbol)                         \
  __attribute__((weak, visibility("default"))) int symbol(); \
  int symbol() { return gpuemu::libcuda::unsupported_call(#name); }
#define GPUEMU_DRIVER_CALL(name, version, symbol) GPUEMU_MISSING(symbol, symbol)
#define GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread) \
  GPUEMU_MISSING(symbol, symbol)                                     \
  GPUEMU_MISSING(symbol, per_thread)
#include "bindings/libcuda/calls.def"
#undef GPUEMU_DRIVER_CALL
#undef GPUEMU_DRIVER_STREAM_CALL
#undef GPUEMU_MISSING
}
