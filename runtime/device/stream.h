// Streams, events and graphs of a device: work that is issued now and done later, in order within a
// stream, in any order between streams. The semantics are CUDA's, on every backend.
//
// - Nothing here waits for the device but what is called `synchronize` or is said to wait.
// - Host memory given to upload and download has to stay, and stay unchanged, until the work is
//   done, whether it is pinned or not.
// - kDefaultStream is the legacy default stream: its work begins after everything issued before in
//   the blocking streams, whose later work begins after it. Non-blocking streams take no part.
// - A kernel that faults is an error of the next synchronize() of its stream (ErrorCode::Launch)
// and
//   a finding in take_findings(). Then a GPU is lost, as after Device::launch; the emulator goes
//   on.
// - Every method may be called from any thread. A capture belongs to its streams: work that two
//   threads issue to them meanwhile is captured in the order of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

using StreamId = uint64_t;
using EventId = uint64_t;
using FunctionId = uint64_t;
using GraphId = uint64_t;      ///< Captured work.
using GraphExecId = uint64_t;  ///< Captured work that can be launched.

inline constexpr StreamId kDefaultStream = 0;
/// A blocking stream of its own for each host thread that uses it.
inline constexpr StreamId kPerThreadStream = 2;

struct StreamOptions {
  int priority = 0;  ///< Lower is more urgent; values outside of the range are clamped.
  bool non_blocking = false;
};

struct PriorityRange {
  int least = 0, greatest = 0;  ///< greatest <= least, as in CUDA.
};

struct KernelArg {
  const void* data = nullptr;  ///< Read before launch() returns.
  size_t bytes = 0;            ///< Exactly the parameter's.
};

/// Bytes that a kernel may read, or write and read.
struct MemoryAccess {
  uint64_t begin = 0, end = 0;  ///< Addresses; end is not one of them.
  bool writes = false;
};

/// Consecutive bytes of global memory that one instruction of a launch touched.
struct TouchedBytes {
  uint64_t begin = 0, end = 0;  ///< Addresses; end is not one of them.
  uint32_t place = 0;           ///< Index into TouchedMemory::places.
  bool operator==(const TouchedBytes&) const = default;
};

/// An instruction of a kernel. Members are "" and 0 where they are not known.
struct TouchedPlace {
  std::string file;
  uint32_t line = 0, ptx_line = 0;
  std::string instruction;
  bool operator==(const TouchedPlace&) const = default;
};

/// What a launch touched: each list by ascending addresses, without overlaps in itself.
struct TouchedMemory {
  std::vector<TouchedBytes> reads, writes;
  std::vector<TouchedBytes> updates;  ///< By atomic operations that all kernels see as such.
  std::vector<TouchedPlace> places;
  bool is_complete = true;  ///< False where there are too many ranges to be listed.
  bool operator==(const TouchedMemory&) const = default;
};

/// One launch, of a function that was looked up once.
struct StreamLaunch : LaunchShape {
  FunctionId function = 0;
  uint64_t tag = 0;  ///< Chosen by the caller, passed on to the observer.
  std::span<const KernelArg> args;
  /// All device memory that the kernel touches. A launch that says so and is captured need not wait
  /// in the graph for those before it that it shares nothing with. Empty: it may touch everything.
  std::span<const MemoryAccess> accesses;
  bool tells_touched = false;  ///< Call StreamChecks::touched with what it touched, too.
};

/// How the emulator runs what streams launch. A GPU has none of it and calls no observer.
struct StreamChecks {
  DeviceChecks sanitize = kUsualChecks;
  uint64_t timeout_ms = 30'000;
  bool profile = false;
  bool defers_undefined = false;  ///< As in LaunchConfig.
  /// Called with every finished launch, on the thread that ran it. It must not call the device.
  std::function<void(uint64_t tag, const std::string& entry, const LaunchReport& report)> observer;
  /// Whether to call `touched` for a launch that asks for it and begins to run. Empty: always.
  std::function<bool(uint64_t tag)> wants_touched;
  /// Called before `observer` for the launches that ask for it.
  std::function<void(uint64_t tag, TouchedMemory memory)> touched;
};

/// Called with the bytes of a copy's source that kernels computed from memory that nothing wrote
/// (Device::undefined_in), where there are any, on the thread that has copied. It must not call the
/// device. Of the emulator.
using UndefinedCopied = std::function<void(const std::vector<UndefinedBytes>& bytes)>;

class Streams {
 public:
  virtual ~Streams() = default;

  virtual PriorityRange priorities() const = 0;
  virtual Result<StreamId> make_stream(const StreamOptions& options) = 0;
  /// Does not wait: what was issued is still done, and a fault that nobody was told becomes the
  /// default stream's. InvalidArgument for the two that always exist.
  virtual Status free_stream(StreamId stream) = 0;
  /// Waits for what was issued before. Launch when a kernel of the stream has faulted since the
  /// last call, Unavailable when the device is lost.
  virtual Status synchronize(StreamId stream) = 0;
  /// Waits for all streams. Faults of several streams are told by as many calls.
  virtual Status synchronize_all() = 0;
  /// Whether everything issued is done.
  virtual Result<bool> query(StreamId stream) = 0;

  virtual Result<EventId> make_event() = 0;
  virtual Status free_event(EventId event) = 0;
  virtual Status record(EventId event, StreamId stream) = 0;
  /// Later work of the stream begins after the latest record() of the event; at once when there was
  /// none. Of another stream's capture: the stream joins the capture.
  virtual Status wait_event(StreamId stream, EventId event) = 0;
  virtual Status synchronize_event(EventId event) = 0;
  /// Whether the latest record is reached; true when there was none.
  virtual Result<bool> query_event(EventId event) = 0;
  /// Milliseconds from one to the other. InvalidArgument unless both are recorded and reached.
  virtual Result<float> elapsed_ms(EventId from, EventId to) = 0;

  /// Ranges are checked now: InvalidArgument when not inside one allocation.
  virtual Status upload(StreamId stream, uint64_t address, std::span<const std::byte> from) = 0;
  virtual Status download(StreamId stream, std::span<std::byte> to, uint64_t address,
                          const UndefinedCopied& undefined = {}) = 0;
  virtual Status copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
                      const UndefinedCopied& undefined = {}) = 0;
  virtual Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// Calls `work` on a thread of the device when the stream gets there. It must not call the
  /// device.
  virtual Status host_call(StreamId stream, std::function<void()> work) = 0;

  /// NotFound lists the names there are. Valid until the module is unloaded.
  virtual Result<FunctionId> function(ModuleId module, const std::string& entry) = 0;
  /// Errors of Device::launch that concern the call come now.
  virtual Status launch(StreamId stream, const StreamLaunch& launch) = 0;
  virtual void set_checks(StreamChecks checks) = 0;
  /// What kernels of streams did wrong since the last call, kFindingsMax at most.
  virtual std::vector<DeviceFinding> take_findings() = 0;

  /// From now on the stream's work is written down and not done. InvalidArgument for
  /// kDefaultStream, and for a stream that is captured already. What must not be captured (a
  /// synchronize or query of the stream, work of the default stream) fails and makes end_capture
  /// fail.
  virtual Status begin_capture(StreamId stream) = 0;
  /// InvalidArgument when the capture was spoilt, or when a stream that joined has work that the
  /// first one did not wait for. Either way the capture is over.
  virtual Result<GraphId> end_capture(StreamId stream) = 0;
  virtual Result<bool> is_capturing(StreamId stream) = 0;
  virtual Result<size_t> graph_nodes(GraphId graph) = 0;
  virtual Result<GraphExecId> instantiate(GraphId graph) = 0;
  /// Does the captured work as one piece of the stream's: the same addresses and arguments, the
  /// contents that memory has then. Two launches of one GraphExecId never overlap.
  virtual Status launch_graph(GraphExecId graph, StreamId stream) = 0;
  virtual Status free_graph(GraphId graph) = 0;
  /// What was launched is still done.
  virtual Status free_graph_exec(GraphExecId graph) = 0;

  /// Pinned memory of the host, which kernels can use by the same address. ResourceExhausted when
  /// there is none.
  virtual Result<void*> allocate_host(uint64_t bytes) = 0;
  /// Memory at one address for the host and kernels, which moves where it is used.
  virtual Result<void*> allocate_managed(uint64_t bytes) = 0;
  /// Pinned or managed. Waits for all work, as Device::free does.
  virtual Status free_host(void* memory) = 0;

  /// Memory that somebody else has allocated becomes usable like that of Device::allocate, with
  /// these bounds, until it is released; pieces that overlap are one. InvalidArgument for memory
  /// that this device does not reach.
  virtual Status adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) = 0;
  /// Waits for all work. InvalidArgument for what was not adopted with so many bytes.
  virtual Status release_memory(uint64_t address, uint64_t bytes) = 0;
  /// A stream that somebody else has made in the same context; free_stream() forgets it only.
  /// Unsupported on the emulator.
  virtual Result<StreamId> adopt_stream(void* native) = 0;
};

}  // namespace gpuemu
