// The driver of this process: its devices, and what the handles that it has given out stand for.
// Made by cuInit and never destroyed: threads of the program may be in calls when it ends.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bindings/libcuda/abi.h"
#include "bindings/libcuda/allocations.h"
#include "bindings/libcuda/recorder.h"
#include "bindings/libcuda/settings.h"
#include "bindings/libcuda/table.h"
#include "runtime/device/stream.h"

namespace gpuemu::libcuda {

inline constexpr size_t kLimits = 10;  ///< CU_LIMIT_MAX.

struct ContextState {
  int device = 0;
  std::atomic<unsigned> flags = 0;
  unsigned api_version = 3020;
  uint64_t id = 0;
  bool is_primary = false;
  std::atomic<int> cache_config = 0;
  std::array<std::atomic<size_t>, kLimits> limits{};
  std::mutex peers_mutex;
  std::set<Context> peers;
};

struct ModuleState {
  Context context = nullptr;
  int device = 0;
  ModuleId id = 0;
  Library library = nullptr;  ///< Where cuLibraryGetModule made it.
  std::vector<Function> functions;
};

struct FunctionState {
  Module module = nullptr;
  Context context = nullptr;
  int device = 0;
  FunctionId id = 0;
  EntryInfo info;
  Kernel kernel = nullptr;  ///< Where cuKernelGetFunction made it.
  std::atomic<int> dynamic_shared_max = 0, carveout = -1, cluster_must_be_set = 0,
                   non_portable_cluster = 0, cluster_policy = 0;
};

/// Code that contexts load when they use it.
struct LibraryState {
  std::string ptx;
  std::mutex mutex;  ///< Guards what follows.
  std::map<Context, Module> loaded;
  std::map<std::string, Kernel> kernels;
};

struct KernelState {
  Library library = nullptr;
  std::string name;
};

struct StreamState {
  Context context = nullptr;
  int device = 0;
  StreamId id = 0;
  unsigned flags = 0;
  int priority = 0;
  std::atomic<bool> captures = false, capture_is_invalid = false;
};

struct EventState {
  Context context = nullptr;
  int device = 0;
  EventId id = 0;
  bool has_no_time = false;
  std::atomic<bool> is_recorded = false;
};

struct GraphState {
  int device = 0;
  GraphId id = 0;
};
struct GraphExecState {
  int device = 0;
  GraphExecId id = 0;
};

struct PoolState {
  int device = 0;
  bool is_default = false;
  std::array<std::atomic<uint64_t>, 9> attributes{};  ///< By CUmemPool_attribute.
};

struct LinkerState {
  std::string ptx;
};

/// A kernel that faulted, until a call tells of it.
struct PendingFault {
  StreamId stream = kDefaultStream;
  int code = CUDA_SUCCESS;
};

struct DeviceSlot {
  std::unique_ptr<Device> device;
  Streams* streams = nullptr;
  std::atomic<unsigned> primary_flags = 0;
  std::mutex mutex;  ///< Guards what follows.
  Context primary = nullptr;
  unsigned primary_users = 0;
  std::vector<PendingFault> faults;
  std::string printed;  ///< By kernels; told to stdout when somebody waits.
  int lost = CUDA_SUCCESS;
  Pool default_pool = nullptr, pool = nullptr;
};

struct Process {
  Settings settings;
  std::vector<std::unique_ptr<DeviceSlot>> devices;
  Table<Context, ContextState> contexts;
  Table<Module, ModuleState> modules;
  Table<Function, FunctionState> functions;
  Table<Library, LibraryState> libraries;
  Table<Kernel, KernelState> kernels;
  Table<Stream, StreamState> streams;
  Table<Event, EventState> events;
  Table<Graph, GraphState> graphs;
  Table<GraphExec, GraphExecState> graph_execs;
  Table<Pool, PoolState> pools;
  Table<Linker, LinkerState> linkers;
  Allocations allocations;
  Recorder recorder;
  std::atomic<uint64_t> next_context_id = 1;

  DeviceSlot* device(int ordinal) {
    const bool exists = ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size();
    return exists ? devices[static_cast<size_t>(ordinal)].get() : nullptr;
  }
};

/// Null before cuInit, and in a child of fork.
Process* process();
/// What cuInit does. A CUresult.
int start_process();

/// The context that calls of this thread are about; null for none.
Context current_context();
/// This thread's contexts, the current one last.
std::vector<Context>& context_stack();

/// Where a call that takes a stream belongs. `code` is not success for a handle that is no stream
/// and for a thread without a context.
struct Place {
  int code = CUDA_SUCCESS;
  Context context = nullptr;
  int device = 0;
  DeviceSlot* slot = nullptr;
  StreamId stream = kDefaultStream;
  std::shared_ptr<StreamState> state;  ///< Null for the default streams.
};
Place place_of(Stream stream);
/// The default stream of the current context.
Place current_place();

/// What went wrong in the device, as the driver's code.
int code_of(const Error& failure);
inline int code_of(const Status& status) {
  return status ? static_cast<int>(CUDA_SUCCESS) : code_of(status.error());
}

/// What a call that has waited for `stream` tells, nothing: for all of the device. Also prints what
/// kernels printed.
int take_fault(DeviceSlot& slot, std::optional<StreamId> stream);

/// While one lives, calls of this thread mean its own default stream by the null stream.
class PerThreadScope {
 public:
  PerThreadScope();
  ~PerThreadScope();
  PerThreadScope(const PerThreadScope&) = delete;
  PerThreadScope& operator=(const PerThreadScope&) = delete;
};
bool is_per_thread();

/// A call of the program: what is common to all. Gives not initialised before cuInit, and out of
/// memory where the host has none.
template <typename Work>
int driver_call(const Work& work) {
  Process* const driver = process();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    return work(*driver);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

/// Work with the slot of a device, for calls that need no context.
template <typename Work>
int with_device(int device, const Work& work) {
  return driver_call([&](Process& driver) -> int {
    DeviceSlot* const slot = driver.device(device);
    return slot == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : work(driver, *slot);
  });
}

template <auto Call>
struct PerThread;
template <typename... Args, int (*Call)(Args...)>
struct PerThread<Call> {
  static int call(Args... args) {
    const PerThreadScope scope;
    return Call(args...);
  }
};

/// Writes "gpuemu: TEXT" to stderr, the first time in a process that it is about `key`.
void say_once(const std::string& key, const std::string& text);

/// Exports `symbol` under another name with the default stream of each thread: the loader calls the
/// resolver to learn which function has the name.
#define GPUEMU_PER_THREAD(symbol, per_thread)                                               \
  extern "C" {                                                                              \
  __attribute__((used)) static auto resolve_##per_thread() -> int (*)() {                   \
    return reinterpret_cast<int (*)()>(reinterpret_cast<void*>(&PerThread<&symbol>::call)); \
  }                                                                                         \
  __attribute__((visibility("default"), ifunc("resolve_" #per_thread))) int per_thread();   \
  }

}  // namespace gpuemu::libcuda
