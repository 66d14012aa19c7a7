// Declares what the runtime library (libcudart) reports to this library in addition to driver
// calls: the runtime function that the program called, and the sites of launch statements.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// Functions of this library for the runtime library of the same build. All are thread-safe and
/// concern the calling thread.
struct RuntimeHooks {
  /// A function of the runtime library begins. `call` must live as long as the process. With
  /// `is_per_thread` the null stream is the per-thread default stream until end().
  void (*begin)(const char* call, bool is_per_thread);
  void (*end)();
  /// Captures the stack, for a launch that follows. The result is given to free_site().
  void* (*note_site)();
  /// The next launches come from this site, until the call with null.
  void (*launch_from)(void* site);
  void (*free_site)(void* site);
  /// Reports that the error of a launch was never read. `reason` is the error's text.
  void (*unchecked_launch)(void* site, const char* entry, const char* reason);
  /// Counts a launch that failed before the driver was asked for it.
  void (*launch_rejected)();
  /// Answers a function that is not implemented: a line on stderr the first time, and a count in
  /// the report.
  void (*unsupported)(const char* call);
  /// Adds the container of one object of a program of relocatable device code. A container without
  /// PTX is taken for the device runtime library, which every such program has.
  int (*add_object)(Linker linker, const void* container, size_t bytes);
};

}  // namespace gpuemu::libcuda

/// `inside` is an address in the runtime library; its frames are left out of stacks.
extern "C" const gpuemu::libcuda::RuntimeHooks* gpuemu_runtime_hooks(const void* inside);
