// Holds the state of the driver in this process: devices, and handles with their objects. cuInit
// creates it; it is never destroyed, because threads may still be in calls when the process exits.
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

#include "bindings/libcuda/allocations.h"
#include "bindings/libcuda/form_recorder.h"
#include "bindings/libcuda/graphs/capture.h"
#include "bindings/libcuda/host_pages.h"
#include "bindings/libcuda/interface/abi.h"
#include "bindings/libcuda/interface/array_abi.h"
#include "bindings/libcuda/interface/per_thread.h"
#include "bindings/libcuda/interface/table.h"
#include "bindings/libcuda/kernel_times.h"
#include "bindings/libcuda/race_watch.h"
#include "bindings/libcuda/recorder.h"
#include "bindings/libcuda/settings.h"
#include "bindings/libcuda/tracer.h"
#include "runtime/device/stream.h"
#include "runtime/ptx/link/link.h"

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
  std::map<Context, int> peers;  ///< With their devices.
};

struct ModuleState {
  Context context = nullptr;
  int device = 0;
  ModuleId id = 0;
  Library library = nullptr;  ///< Null unless the module was loaded for a library.
  std::vector<Function> functions;
  std::vector<uint64_t> managed;  ///< Addresses of managed variables.
  std::string code;               ///< The result of FormRecorder::keep().
};

struct FunctionState {
  Module module = nullptr;
  Context context = nullptr;
  int device = 0;
  FunctionId id = 0;
  EntryInfo info;
  bool has_managed = false;  ///< Its module has managed variables.
  Kernel kernel = nullptr;   ///< Null unless the function belongs to a library.
  std::atomic<int> dynamic_shared_max = 0, carveout = -1, cluster_must_be_set = 0,
                   non_portable_cluster = 0, cluster_policy = 0;
  std::atomic<bool> was_launched = false;
};

/// Code that each context loads when it first uses it.
struct LibraryState {
  std::string ptx;
  std::mutex mutex;  ///< Guards the members below.
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
  std::atomic<bool> captures = false;  ///< Whether `captured` has a capture.
  Captured captured;
};

struct EventState {
  Context context = nullptr;
  int device = 0;
  EventId id = 0;
  bool has_no_time = false;
  std::atomic<bool> is_recorded = false;
  std::atomic<bool> is_captured = false;  ///< Whether `captured` has a capture.
  Captured captured;                      ///< Where its latest record was captured.
};

/// Work of a graph that the device runs as one piece, and then possibly a node whose graphs depend
/// on a condition.
struct GraphStep {
  GraphExecId work = 0;        ///< 0 if there is none.
  const Node* node = nullptr;  ///< A condition, or a child with one inside; null if there is none.
  std::vector<std::vector<GraphStep>> inside;  ///< For each graph of the node.
};

/// A graph that can be launched. graphs_mutex() guards it.
struct GraphExecState {
  /// Locked by each call that uses the object, before graphs_mutex(), which a launch unlocks while
  /// it waits.
  std::mutex use;
  std::shared_ptr<GraphState> graph;  ///< A separate copy.
  uint64_t flags = 0;
  std::vector<GraphStep> steps;
  bool is_current = false;  ///< Whether `steps` match the current graph.
  std::set<const Node*> disabled;
  std::map<const Node*, uint64_t> tags;  ///< The launch tags of the recorder.
};

/// A CUDA array: texels in rows of the same length.
struct ArrayState {
  Context context = nullptr;
  int device = 0;
  ArrayDescription what{};  ///< A height or depth of 0: one row, one plane.
  uint64_t address = 0, pitch_bytes = 0;
  bool is_level = false;  ///< Belongs to a mipmapped array.

  uint64_t texel_bytes() const;
  uint64_t row_bytes() const { return what.width * texel_bytes(); }
  uint64_t rows() const { return what.height == 0 ? 1 : what.height; }
  uint64_t planes() const { return what.depth == 0 ? 1 : what.depth; }
  uint64_t slice_bytes() const { return rows() * pitch_bytes; }
};

/// A mipmapped array: arrays of which each has half the size of the one before.
struct MipmapState {
  std::vector<ArrayHandle> levels;
};

/// A texture or surface object. Its handle is that of the device.
struct TextureState {
  ResourceDescription resource{};
  TextureDescription texture{};
  bool is_surface = false;
};

/// The kind of host memory of a pool.
enum class PoolHost : uint8_t { None, Pinned, Managed };

struct PoolState {
  int device = 0;
  PoolHost host = PoolHost::None;
  bool is_default = false;
  /// One bit for each other device that may use its memory. Process::reach guards changes.
  std::atomic<uint32_t> peers = 0;
  std::array<std::atomic<int>, 4> flags{0, 1, 1, 1};  ///< By CUmemPool_attribute.
  std::atomic<uint64_t> release_threshold = 0;
  std::atomic<uint64_t> used = 0;  ///< Bytes; a pool reserves no other bytes.
  std::atomic<uint64_t> reserved_high = 0, used_high = 0;

  void took(uint64_t bytes) {
    const uint64_t now = used += bytes;
    for (auto* const high : {&reserved_high, &used_high}) {
      uint64_t known = *high;
      while (known < now && !high->compare_exchange_weak(known, now)) {
      }
    }
  }
};

/// The error log buffer that the caller passed with CU_JIT_ERROR_LOG_BUFFER; null when it passed
/// none.
struct Logs {
  char* error = nullptr;
  size_t error_bytes = 0;
};

struct LinkerState {
  Logs logs;
  std::vector<ptx::LinkInput> inputs;
  std::string ptx;                  ///< The result of cuLinkComplete.
  bool has_device_runtime = false;  ///< libcudadevrt.a was added, and is not linked yet.
  bool allows_conflicts = false;    ///< Links despite conflicts, as nvJitLink does.
  std::string without_ptx;          ///< Why an object has no PTX; "" if all have.
};

/// A fault of a kernel that no call has returned yet.
struct PendingFault {
  StreamId stream = kDefaultStream;
  int code = CUDA_SUCCESS;
};

struct DeviceSlot {
  std::unique_ptr<Device> device;
  Streams* streams = nullptr;
  std::atomic<unsigned> primary_flags = 0;
  /// The devices whose memory this device's kernels may use, once for each context that enabled it.
  /// Process::reach guards it.
  std::multiset<int> peers;
  std::mutex mutex;  ///< Guards the members below.
  Context primary = nullptr;
  unsigned primary_users = 0;
  std::vector<PendingFault> faults;
  std::string printed;  ///< Output of kernels, written to stdout by the next call that waits.
  /// With `--on-finding sticky`: the error that every later call returns.
  int lost = CUDA_SUCCESS;
  Pool default_pool = nullptr, pool = nullptr;
  std::map<uint64_t, TextureState> textures;
  /// Bytes that nodes of graphs have allocated and that are not freed, and their maximum.
  std::atomic<uint64_t> graph_bytes = 0, graph_bytes_high = 0;
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
  Table<ArrayHandle, ArrayState> arrays;
  Table<MipmapHandle, MipmapState> mipmaps;
  Table<Pool, PoolState> pools;
  Table<Linker, LinkerState> linkers;
  Allocations allocations;
  std::mutex reach;  ///< See lock_reach().
  Recorder recorder;
  RaceWatch races;
  HostPages host_pages;
  std::mutex listening_mutex;
  /// Launches that may wait for the host, by tag. Guarded by listening_mutex.
  std::set<uint64_t> listening;
  Tracer tracer;
  KernelTimes times;
  FormRecorder forms;
  std::atomic<uint64_t> next_context_id = 1;

  DeviceSlot* device(int ordinal) {
    const bool exists = ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size();
    return exists ? devices[static_cast<size_t>(ordinal)].get() : nullptr;
  }
};

/// Returns the state; nullptr before cuInit and in a child of fork. All functions here are
/// thread-safe.
Process* process();
/// Implements cuInit. Returns CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE when no device is visible,
/// CUDA_ERROR_NOT_INITIALIZED in a child of fork, CUDA_ERROR_INVALID_VALUE when the settings cannot
/// be read, or CUDA_ERROR_UNKNOWN when a device cannot start; the last two say why on stderr.
int start_process();

/// Returns the current context of this thread; nullptr when it has none.
Context current_context();
/// Returns the context stack of this thread, the current context last.
std::vector<Context>& context_stack();

/// The context, device and stream that a call works on, or the error in `code`:
/// CUDA_ERROR_INVALID_HANDLE when the handle is not a stream, CUDA_ERROR_INVALID_CONTEXT when the
/// thread has no current context, CUDA_ERROR_CONTEXT_IS_DESTROYED when the context is gone, or the
/// device's fault with `--on-finding sticky`.
struct Place {
  int code = CUDA_SUCCESS;
  Context context = nullptr;
  int device = 0;
  DeviceSlot* slot = nullptr;
  StreamId stream = kDefaultStream;
  std::shared_ptr<StreamState> state;  ///< Null for the default streams.
  bool is_of_graph = false;  ///< The work runs when a graph is launched, any number of times.
};
/// Resolves a stream handle.
Place place_of(Stream stream);
/// Returns the stream's line in the race watch.
Line line_of(const Place& place);
inline bool is_captured(const Place& place) {
  return place.state != nullptr && place.state->captures;
}
/// Returns the default stream of the current context.
Place current_place();

/// Translates an error of the device to a CUresult.
int code_of(const Error& failure);
inline int code_of(const Status& status) {
  return status ? static_cast<int>(CUDA_SUCCESS) : code_of(status.error());
}

/// Returns the code of the next fault that no call has returned yet, in `stream` or, without one,
/// on the whole device; CUDA_SUCCESS when there is none. Writes the output of kernels to stdout.
/// Called after waiting.
int take_fault(DeviceSlot& slot, std::optional<StreamId> stream);

/// Makes the per-thread default stream the null stream of this thread while it lives.
class PerThreadScope {
 public:
  PerThreadScope();
  ~PerThreadScope();
  PerThreadScope(const PerThreadScope&) = delete;
  PerThreadScope& operator=(const PerThreadScope&) = delete;
};
bool is_per_thread();

/// A call of the driver while it lives. After an outermost call, the pages of work that the host
/// has not waited for are protected from the host.
class DriverCall {
 public:
  explicit DriverCall(Process& driver) : driver_(driver), in_driver_(driver.host_pages) {}
  ~DriverCall() {
    if (driver_.races.follows_host() && InDriver::is_outermost()) {
      driver_.host_pages.take(driver_.races.pages_in_use());
    }
  }
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  Process& driver_;
  InDriver in_driver_;
};

/// Runs the body of a driver function and returns its code; CUDA_ERROR_NOT_INITIALIZED before
/// cuInit, CUDA_ERROR_OUT_OF_MEMORY when the host has no memory left. The name of the function is
/// that of the caller; helpers between pass it on in a CallScope.
template <typename Work>
int driver_call(const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  Process* const driver = process();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const DriverCall running(*driver);
  try {
    return work(*driver);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

/// Returns the code of a call that only has wrong arguments; errors of driver_call(), such as a
/// missing cuInit, come first.
inline int wrong_arguments(int code, const char* call = __builtin_FUNCTION()) {
  return driver_call([code](Process&) { return code; }, call);
}

/// Runs the body of a driver function that takes a stream; the errors of place_of().
template <typename Work>
int with_place(Stream stream, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const Place place = place_of(stream);
    return place.code != CUDA_SUCCESS ? place.code : work(driver, place);
  });
}

/// Runs the body of a driver function that takes a device; CUDA_ERROR_INVALID_DEVICE for an unknown
/// one.
template <typename Work>
int with_device(int device, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    DeviceSlot* const slot = driver.device(device);
    return slot == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_DEVICE) : work(driver, *slot);
  });
}

/// Writes "gpuemu: TEXT" to stderr, once per `key` and process. Thread-safe.
void say_once(const std::string& key, const std::string& text);

/// Rejects a call that the emulator does not support: reports it on stderr the first time, counts
/// it for the report, and returns CUDA_ERROR_NOT_SUPPORTED. Thread-safe.
int unsupported_call(const char* name);

/// While it exists, this thread runs a host function of a stream.
class CalledByStream {
 public:
  CalledByStream();
  ~CalledByStream();
  CalledByStream(const CalledByStream&) = delete;
  CalledByStream& operator=(const CalledByStream&) = delete;

 private:
  const bool before_;
};
/// Returns CUDA_ERROR_NOT_PERMITTED, and says so once, where a function that a stream calls made
/// the driver call `name`: the stream's thread would wait for itself.
int refuse_in_host_function(const char* name);

/// Exports the driver function `symbol` also under the name `per_thread`.
#define GPUEMU_PER_THREAD(symbol, per_thread) \
  GPUEMU_EXPORT_PER_THREAD(PerThreadScope, symbol, per_thread)

}  // namespace gpuemu::libcuda
