// Streams, events and graphs of a device. Work is issued now and done later: in order within a
// stream, in any order between streams. The semantics are CUDA's, on every backend.
//
// - Only functions that are called `synchronize` or documented as waiting wait for the device.
// - Host memory passed to upload and download must stay valid and unchanged until the work is done,
//   pinned or not.
// - kDefaultStream is the legacy default stream: its work begins after all earlier work of the
//   blocking streams, and their later work begins after it. Non-blocking streams are independent of
//   it.
// - A kernel that faults makes the next synchronize() of its stream fail (ErrorCode::Launch) and
//   adds a finding to take_findings(). A GPU is lost then, as after Device::launch; the emulator
//   continues.
// - Every method may be called from any thread. A capture belongs to its streams: work that several
//   threads issue to them is captured in the order of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

using StreamId = uint64_t;
using EventId = uint64_t;
using FunctionId = uint64_t;
using GraphId = uint64_t;      ///< A captured graph.
using GraphExecId = uint64_t;  ///< An instantiated graph, which can be launched.

inline constexpr StreamId kDefaultStream = 0;
/// Stands for a separate blocking stream for each host thread that uses it.
inline constexpr StreamId kPerThreadStream = 2;

struct StreamOptions {
  int priority = 0;  ///< Lower is more urgent; clamped to the range of PriorityRange.
  bool non_blocking = false;
};

struct PriorityRange {
  int least = 0, greatest = 0;  ///< greatest <= least, as in CUDA.
};

struct KernelArg {
  const void* data = nullptr;  ///< Copied before launch() returns.
  size_t bytes = 0;            ///< Exactly the parameter's size.
};

/// A range of device memory that a kernel may read, or both read and write.
struct MemoryAccess {
  uint64_t begin = 0, end = 0;  ///< Addresses; `end` is exclusive.
  bool writes = false;
};

/// A range of global memory that one instruction of a launch accessed.
struct TouchedBytes {
  uint64_t begin = 0, end = 0;  ///< Addresses; `end` is exclusive.
  uint32_t place = 0;           ///< Index into TouchedMemory::places.
  bool operator==(const TouchedBytes&) const = default;
};

/// An instruction of a kernel. Unknown members are "" and 0.
struct TouchedPlace {
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  std::string instruction;
  bool operator==(const TouchedPlace&) const = default;
};

/// All global memory that a launch accessed. Each list is sorted by address and has no overlaps.
struct TouchedMemory {
  std::vector<TouchedBytes> reads, writes;
  std::vector<TouchedBytes> updates;  ///< By atomic operations that have the scope of all kernels.
  std::vector<TouchedPlace> places;
  bool is_complete = true;  ///< False if there were too many ranges to list.
  bool operator==(const TouchedMemory&) const = default;
};

/// What a device remembers of a launch, to make it again with fewer look-ups and checks.
class LaunchMemo {
 public:
  virtual ~LaunchMemo() = default;
};

/// A launch of a function that was looked up before.
struct StreamLaunch : LaunchShape {
  FunctionId function = 0;
  uint64_t tag = 0;  ///< Chosen by the caller and passed to the observer.
  std::span<const KernelArg> args;
  /// All device memory that the kernel may access; empty: any memory. In a captured graph, a launch
  /// with such a list does not wait for earlier launches whose memory is disjoint from its own.
  std::span<const MemoryAccess> accesses;
  bool tells_touched = false;  ///< Report the memory accessed to StreamChecks::touched.
  /// Where the device may keep a memo of this launch, for later ones on the same device that differ
  /// at most in the stream, the tag and the values of arguments. Not for two threads at once. Null:
  /// none.
  std::unique_ptr<LaunchMemo>* memo = nullptr;
};

/// How the emulator runs launches of streams, and its callbacks. Ignored on a GPU.
struct StreamChecks {
  DeviceChecks sanitize = kUsualChecks;
  uint64_t timeout_ms = 30'000;
  bool timeout_restarts = false;  ///< As in LaunchConfig.
  bool profile = false;
  bool defers_undefined = false;  ///< As in LaunchConfig.
  /// Called after every launch that ran, on the thread that ran it. Must not call the device.
  std::function<void(uint64_t tag, const std::string& entry, const LaunchReport& report)> observer;
  /// Called instead of `observer` and `touched` for a launch that could not run.
  std::function<void(uint64_t tag, const std::string& entry, const Error& why)> failed;
  /// Called when a launch with `tells_touched` begins; false skips `touched`. Empty: never skip.
  std::function<bool(uint64_t tag)> wants_touched;
  /// Called before `observer`, for launches with `tells_touched`.
  std::function<void(uint64_t tag, TouchedMemory memory)> touched;
};

/// Called when a copy's source holds bytes that kernels computed from uninitialised memory
/// (Device::undefined_in), on the thread that did the copy. Must not call the device. Emulator
/// only.
using UndefinedCopied = std::function<void(const std::vector<UndefinedBytes>& bytes)>;

class Streams {
 public:
  virtual ~Streams() = default;

  virtual PriorityRange priorities() const = 0;
  virtual Result<StreamId> make_stream(const StreamOptions& options) = 0;
  /// Does not wait: issued work is still done. A fault that was not yet reported moves to the
  /// default stream. InvalidArgument for the two predefined streams.
  virtual Status free_stream(StreamId stream) = 0;
  /// Waits for all work issued before. Fails with Launch if a kernel of the stream has faulted
  /// since the last call, with Unavailable if the device is lost.
  virtual Status synchronize(StreamId stream) = 0;
  /// Waits for all streams. Reports one stream's fault per call.
  virtual Status synchronize_all() = 0;
  /// Returns whether all work issued before is done.
  virtual Result<bool> query(StreamId stream) = 0;

  virtual Result<EventId> make_event() = 0;
  virtual Status free_event(EventId event) = 0;
  virtual Status record(EventId event, StreamId stream) = 0;
  /// Makes later work of the stream wait for the latest record() of the event; has no effect if
  /// there was none. If the event belongs to another stream's capture, the stream joins that
  /// capture.
  virtual Status wait_event(StreamId stream, EventId event) = 0;
  virtual Status synchronize_event(EventId event) = 0;
  /// Returns whether the latest record() was reached; true if there was none.
  virtual Result<bool> query_event(EventId event) = 0;
  /// Returns the milliseconds between two events. InvalidArgument unless both were recorded and
  /// reached.
  virtual Result<float> elapsed_ms(EventId from, EventId to) = 0;

  /// Checks the range at the call: InvalidArgument unless it is inside one allocation.
  virtual Status upload(StreamId stream, uint64_t address, std::span<const std::byte> from) = 0;
  virtual Status download(StreamId stream, std::span<std::byte> to, uint64_t address,
                          const UndefinedCopied& undefined = {}) = 0;
  virtual Status copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
                      const UndefinedCopied& undefined = {}) = 0;
  virtual Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// Calls `work` on a device thread when the stream reaches it. `work` must not call the device.
  virtual Status host_call(StreamId stream, std::function<void()> work) = 0;

  /// Looks up an entry; the id is valid until the module is unloaded. NotFound lists the existing
  /// names.
  virtual Result<FunctionId> function(ModuleId module, const std::string& entry) = 0;
  /// Errors in the arguments, as for Device::launch, are returned by this call.
  virtual Status launch(StreamId stream, const StreamLaunch& launch) = 0;
  virtual void set_checks(StreamChecks checks) = 0;
  /// Returns and clears the findings of kernels in streams; at most kFindingsMax.
  virtual std::vector<DeviceFinding> take_findings() = 0;

  /// Starts a capture: from now on, work issued to the stream is recorded instead of done.
  /// InvalidArgument for kDefaultStream and for a stream that is already being captured. An
  /// operation that must not be captured (a synchronize or query of the stream, work of the default
  /// stream) fails and invalidates the capture.
  virtual Status begin_capture(StreamId stream) = 0;
  /// Ends the capture, also on failure. InvalidArgument if the capture was invalidated, or if a
  /// stream that joined has work that the first stream did not wait for.
  virtual Result<GraphId> end_capture(StreamId stream) = 0;
  virtual Result<bool> is_capturing(StreamId stream) = 0;
  virtual Result<size_t> graph_nodes(GraphId graph) = 0;
  virtual Result<GraphExecId> instantiate(GraphId graph) = 0;
  /// Issues the captured work to the stream as one piece of work, with the captured addresses and
  /// arguments. Two launches of one GraphExecId never overlap.
  virtual Status launch_graph(GraphExecId graph, StreamId stream) = 0;
  virtual Status free_graph(GraphId graph) = 0;
  /// Launches already issued are still done.
  virtual Status free_graph_exec(GraphExecId graph) = 0;

  /// Allocates pinned host memory, which kernels access by the same address. ResourceExhausted if
  /// there is none left.
  virtual Result<void*> allocate_host(uint64_t bytes) = 0;
  /// Allocates memory with one address for the host and for kernels, which migrates on access.
  virtual Result<void*> allocate_managed(uint64_t bytes) = 0;
  /// Frees pinned or managed memory. Waits for all work, as Device::free does.
  virtual Status free_host(void* memory) = 0;

  /// Makes memory that was allocated elsewhere usable like that of Device::allocate, with these
  /// bounds, until release_memory(). Overlapping ranges are merged. InvalidArgument for memory that
  /// this device cannot access.
  virtual Status adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) = 0;
  /// Undoes adopt_memory(); waits for all work. InvalidArgument unless it was adopted with the same
  /// size.
  virtual Status release_memory(uint64_t address, uint64_t bytes) = 0;
  /// Uses a stream that was created elsewhere in the same context; free_stream() does not destroy
  /// it. Unsupported on the emulator.
  virtual Result<StreamId> adopt_stream(void* native) = 0;
};

}  // namespace gpuemu
