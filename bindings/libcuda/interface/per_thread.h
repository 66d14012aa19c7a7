// Exports functions a second time for programs that were compiled with the per-thread default
// stream.
#pragma once

namespace gpuemu::libcuda {

/// PerThread<Scope, &f>::call is f while a Scope lives, which makes the per-thread default stream
/// the null stream of the calling thread.
template <typename Scope, auto Call>
struct PerThread;
template <typename Scope, typename... Args, int (*Call)(Args...)>
struct PerThread<Scope, Call> {
  static int call(Args... args) {
    const Scope scope;
    return Call(args...);
  }
};

/// Exports PerThread<scope, &symbol> under the name `per_thread`, as an indirect function: the
/// loader calls the resolver for its address.
#define GPUEMU_EXPORT_PER_THREAD(scope, symbol, per_thread)                               \
  extern "C" {                                                                            \
  __attribute__((used)) static auto resolve_##per_thread() -> int (*)() {                 \
    return reinterpret_cast<int (*)()>(                                                   \
        reinterpret_cast<void*>(&gpuemu::libcuda::PerThread<scope, &symbol>::call));      \
  }                                                                                       \
  __attribute__((visibility("default"), ifunc("resolve_" #per_thread))) int per_thread(); \
  }

}  // namespace gpuemu::libcuda
