#include "bindings/libcuda/calls/storages.h"

#include <atomic>
#include <deque>
#include <mutex>

#include <dlfcn.h>

#include "bindings/libcuda/interface/abi.h"

GPUEMU_DRIVER_API int cuMemFree_v2(gpuemu::libcuda::Address address);

namespace gpuemu::libcuda {
namespace {

template <typename Call>
Call* find(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_DEFAULT, name));
}

/// Puts an exception of Python aside, and lets other threads of Python run, while it lives: freeing
/// may wait for a host function that is written in Python.
class AsidePython {
 public:
  AsidePython() {
    static const auto has_lock = find<int()>("PyGILState_Check");
    static const auto fetch = find<void(void**, void**, void**)>("PyErr_Fetch");
    static const auto leave = find<void*()>("PyEval_SaveThread");
    if (has_lock == nullptr || has_lock() == 0) return;
    fetch(&type_, &value_, &trace_);
    thread_ = leave();
  }
  ~AsidePython() {
    static const auto restore = find<void(void*, void*, void*)>("PyErr_Restore");
    static const auto enter = find<void(void*)>("PyEval_RestoreThread");
    if (thread_ == nullptr) return;
    enter(thread_);
    restore(type_, value_, trace_);
  }
  AsidePython(const AsidePython&) = delete;
  AsidePython& operator=(const AsidePython&) = delete;

 private:
  void* thread_ = nullptr;
  void *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

struct Released {
  std::mutex mutex;
  std::deque<void*> all;
  std::atomic<int> error = 0;
};

/// Never destroyed: storages are freed until the process ends.
Released& released() {
  static auto* const made = new Released;
  return *made;
}

void keep(void* managed) {
  const std::lock_guard lock(released().mutex);
  released().all.push_back(managed);
}

}  // namespace
}  // namespace gpuemu::libcuda

GPUEMU_DRIVER_API void gpuemu_release_memory(void* managed) {
  using gpuemu::libcuda::Address;
  // A DLManagedTensor begins with a DLTensor, and that with the address.
  const auto address = reinterpret_cast<Address>(*static_cast<void**>(managed));
  {
    const gpuemu::libcuda::AsidePython aside;
    int none = 0;
    const int code = cuMemFree_v2(address);
    if (code != 0) gpuemu::libcuda::released().error.compare_exchange_strong(none, code);
  }
  gpuemu::libcuda::keep(managed);
}

GPUEMU_DRIVER_API void gpuemu_release(void* managed) { gpuemu::libcuda::keep(managed); }

GPUEMU_DRIVER_API void* gpuemu_next_released() {
  gpuemu::libcuda::Released& known = gpuemu::libcuda::released();
  const std::lock_guard lock(known.mutex);
  if (known.all.empty()) return nullptr;
  void* const next = known.all.front();
  known.all.pop_front();
  return next;
}

GPUEMU_DRIVER_API int gpuemu_release_error() {
  return gpuemu::libcuda::released().error.exchange(0);
}
