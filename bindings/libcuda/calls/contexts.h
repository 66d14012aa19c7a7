// Creates and destroys contexts.
#pragma once

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Returns the handle of a new context. It is not made current.
Context make_context(Process& driver, int device, unsigned flags, bool is_primary);
/// Waits for the device, then destroys the context with its modules, memory, streams and events.
/// Does nothing when the handle is not a context.
void destroy_context(Process& driver, Context context);
/// Returns true if cuCtxCreate accepts these flags.
bool are_context_flags(unsigned flags);

}  // namespace gpuemu::libcuda
