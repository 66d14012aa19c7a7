// Contexts: made, and taken away with what belongs to them.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

Context make_context(Process& driver, int device, unsigned flags, bool is_primary);
/// With its modules, memory, streams and events. Waits for the device.
void destroy_context(Process& driver, Context context);
/// Whether these are flags that cuCtxCreate takes.
bool are_context_flags(unsigned flags);

}  // namespace gpuemu::libcuda
