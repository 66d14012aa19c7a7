// Defines every function of the driver API as a weak one that reports it as not supported. The
// functions that this library implements override theirs.
#include "bindings/libcuda/process.h"

extern "C" {
#define GPUEMU_MISSING(name, symbol)                         \
  __attribute__((weak, visibility("default"))) int symbol(); \
  int symbol() { return gpuemu::libcuda::unsupported_call(#name); }
#define GPUEMU_DRIVER_CALL(name, version, symbol) GPUEMU_MISSING(symbol, symbol)
#define GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread) \
  GPUEMU_MISSING(symbol, symbol)                                     \
  GPUEMU_MISSING(symbol, per_thread)
#include "bindings/libcuda/calls/calls.def"
#undef GPUEMU_DRIVER_CALL
#undef GPUEMU_DRIVER_STREAM_CALL
#undef GPUEMU_MISSING
}
