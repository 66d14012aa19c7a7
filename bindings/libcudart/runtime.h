// Holds the state of the runtime API for each host thread, and wraps the body of its functions.
#pragma once

#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "bindings/libcuda/calls/runtime_hooks.h"
#include "bindings/libcuda/interface/per_thread.h"
#include "bindings/libcudart/driver.h"

namespace gpuemu::libcudart {

inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

/// The hooks of the driver library. Never null.
const libcuda::RuntimeHooks& hooks();

/// The values between <<< and >>>, until the launch takes them.
struct Configuration {
  Extent3 grid, block;
  size_t shared_bytes;
  Stream stream;
  void* site;  ///< Made by note_site(); owned.
};

/// The device of threads that have not chosen one.
std::atomic<int>& first_device();

/// Lives from the first call of a thread to its end.
struct ThreadState {
  int last_error = cudaSuccess;
  int device = first_device();
  std::vector<Configuration> configurations;
  void* launch_site = nullptr;  ///< Belongs to the last configuration taken; owned.
  /// The last failed launch statement whose error was not read; owned. Null if there is none.
  void* unchecked_site = nullptr;
  int unchecked_error = cudaSuccess;
  std::string unchecked_kernel;
};
ThreadState& thread_state();

/// Remembers that a launch statement failed. Takes ownership of the site. Reports an earlier
/// failure that was not read.
void note_failed_launch(void* site, const std::string& kernel, int code);
/// Called when the error of the last launch statement was read.
void forget_failed_launch();

/// Initialises the driver. Returns its error, or cudaErrorInsufficientDriver when it is older than
/// this library.
int start();
/// Makes the primary context of the thread's device current, unless the thread has a context.
int enter();
/// Records the error of a function, which it returns.
int finish(int code);

/// Reports to the driver that this function runs, while it lives.
class CallScope {
 public:
  explicit CallScope(const char* call);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
};

/// Makes the per-thread default stream the null stream of this thread while it lives.
class PerThreadScope {
 public:
  PerThreadScope();
  ~PerThreadScope();
  PerThreadScope(const PerThreadScope&) = delete;
  PerThreadScope& operator=(const PerThreadScope&) = delete;
};

/// Runs the body of a function that needs no context. Returns its code, and remembers an error.
template <typename Work>
int runtime_call_without_context(const Work& work, const char* call = __builtin_FUNCTION()) {
  const int started = start();  // First, because from then on the driver traces calls.
  const CallScope scope(call);
  try {
    return finish(started == cudaSuccess ? work() : started);
  } catch (const std::bad_alloc&) {
    return finish(cudaErrorMemoryAllocation);
  }
}

/// Runs the body of a function in the context of the thread's device.
template <typename Work>
int runtime_call(const Work& work, const char* call = __builtin_FUNCTION()) {
  return runtime_call_without_context(
      [&]() -> int {
        const int entered = enter();
        return entered == cudaSuccess ? work() : entered;
      },
      call);
}

/// Exports the runtime function `symbol` also under the name `per_thread`.
#define GPUEMU_RUNTIME_PER_THREAD(symbol, per_thread) \
  GPUEMU_EXPORT_PER_THREAD(PerThreadScope, symbol, per_thread)

/// Defines a function that is one call of the driver.
#define GPUEMU_RUNTIME_FORWARD(name, parameters, driver_function, arguments) \
  GPUEMU_RUNTIME_API int name parameters {                                   \
    return runtime_call([&]() -> int { return driver_function arguments; }); \
  }

}  // namespace gpuemu::libcudart
