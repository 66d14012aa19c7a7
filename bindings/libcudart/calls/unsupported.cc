// Defines every function of the runtime API as a weak one that reports it as not supported. The
// functions that this library implements override theirs.
#include "bindings/libcudart/calls/unsupported.h"

extern "C" {
#define GPUEMU_MISSING(symbol)                               \
  __attribute__((weak, visibility("default"))) int symbol(); \
  int symbol() { return gpuemu::libcudart::unsupported_call(#symbol); }
#define GPUEMU_RUNTIME_CALL(name) GPUEMU_MISSING(name)
#define GPUEMU_RUNTIME_STREAM_CALL(name, per_thread) \
  GPUEMU_MISSING(name)                               \
  GPUEMU_MISSING(per_thread)
#if GPUEMU_RUNTIME_MAJOR == 12
#include "bindings/libcudart/calls/calls_12.def"
#else
#include "bindings/libcudart/calls/calls.def"
#endif
#undef GPUEMU_RUNTIME_CALL
#undef GPUEMU_RUNTIME_STREAM_CALL
#undef GPUEMU_MISSING
}
