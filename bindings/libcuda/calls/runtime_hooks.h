// Declares what the runtime library (libcudart) tells this library beyond the calls of the driver
// API: by which of its functions the program called, and where launch statements stand.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// Functions of this library for the runtime library of the same build. All are thread-safe and
/// concern the calling thread.
struct RuntimeHooks {
  /// A function of the runtime library begins. `call` must live as long as the process. With
  /// `per_thread` the null stream is the per-thread default stream until end().
  void (*begin)(const char* call, bool per_thread);
  void (*end)();
  /// Captures the stack, for a launch that follows. The result is given to free_site().
  void* (*note_site)();
  /// The next launches come from this site, until the call with null.
  void (*launch_from)(void* site);
  void (*free_site)(void* site);
  /// Reports that nobody read the error of a launch. `reason` is the error's text.
  void (*unchecked_launch)(void* site, const char* entry, const char* reason);
  /// Answers a function that is not implemented: a line on stderr the first time, and a count in
  /// the report.
  void (*unsupported)(const char* call);
  /// Adds the container of one object of a program of relocatable device code. One without PTX
  /// counts as the device runtime library, which every such program has.
  int (*add_object)(Linker linker, const void* container, size_t bytes);
};

}  // namespace gpuemu::libcuda

/// `inside` is an address in the runtime library; its frames are left out of stacks.
extern "C" const gpuemu::libcuda::RuntimeHooks* gpuemu_runtime_hooks(const void* inside);
