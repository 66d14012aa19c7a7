// Streams, events and graphs of one GPU. An id is the driver's handle, validated against the
// handles in use.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/cuda/capture_order.h"
#include "runtime/cuda/device_impl.h"
#include "runtime/device/stream.h"

namespace gpuemu::cuda {

class CudaStreams final : public Streams {
 public:
  explicit CudaStreams(CudaDevice& device) : device_(device), driver_(device.driver()) {}

  PriorityRange priorities() const override;
  Result<StreamId> make_stream(const StreamOptions& options) override;
  Status free_stream(StreamId stream) override;
  Status synchronize(StreamId stream) override;
  Status synchronize_all() override;
  Result<bool> query(StreamId stream) override;
  Result<EventId> make_event() override;
  Status free_event(EventId event) override;
  Status record(EventId event, StreamId stream) override;
  Status wait_event(StreamId stream, EventId event) override;
  Status synchronize_event(EventId event) override;
  Result<bool> query_event(EventId event) override;
  Result<float> elapsed_ms(EventId from, EventId to) override;
  Status upload(StreamId stream, uint64_t address, std::span<const std::byte> from) override;
  Status download(StreamId stream, std::span<std::byte> to, uint64_t address,
                  const UndefinedCopied& undefined) override;
  Status copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
              const UndefinedCopied& undefined) override;
  Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) override;
  Status host_call(StreamId stream, std::function<void()> work) override;
  Result<FunctionId> function(ModuleId module, const std::string& entry) override;
  Status launch(StreamId stream, const StreamLaunch& launch) override;
  void set_checks(StreamChecks) override {}
  std::vector<DeviceFinding> take_findings() override;
  Status begin_capture(StreamId stream) override;
  Result<GraphId> end_capture(StreamId stream) override;
  Result<bool> is_capturing(StreamId stream) override;
  Result<size_t> graph_nodes(GraphId graph) override;
  Result<GraphExecId> instantiate(GraphId graph) override;
  Status launch_graph(GraphExecId graph, StreamId stream) override;
  Status free_graph(GraphId graph) override;
  Status free_graph_exec(GraphExecId graph) override;
  Result<void*> allocate_host(uint64_t bytes) override;
  Result<void*> allocate_managed(uint64_t bytes) override;
  Status free_host(void* memory) override;
  Status adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) override;
  Status release_memory(uint64_t address, uint64_t bytes) override;
  Result<StreamId> adopt_stream(void* native) override;

  /// Removes the functions of an unloaded module.
  void forget(ModuleId module);
  /// Frees everything that was not freed. The context must be current.
  void free_all();

 private:
  struct Known {
    ModuleId module = 0;
    CudaDevice::FoundEntry entry;
  };
  /// The last launch of a stream, for messages about a fault.
  struct Last {
    std::mutex mutex;  ///< Guards the members below.
    std::shared_ptr<const Known> function;
    LaunchShape shape;
  };
  /// Valid until `generation_` changes.
  struct Memo final : LaunchMemo {
    uint64_t generation = 0;
    StreamId stream = 0;
    std::shared_ptr<const Known> function;
    std::shared_ptr<Last> last;
    bool is_plain = false;  ///< cuLaunchKernel without attributes makes it.
  };
  using Handles = std::unordered_set<uint64_t>;

  /// Makes the context current and returns the handle. InvalidArgument for an unknown stream.
  Result<Stream> use(StreamId stream);
  Result<Event> use_event(EventId event);
  Status use_handle(const Handles& handles, uint64_t handle, const char* what);
  Status forget_handle(Handles& handles, uint64_t handle, const char* what);
  /// Adds the launch to the stream's capture as a node with minimal dependencies. Returns kNotReady
  /// if it has to be launched in the ordinary way.
  Result<int> add_to_capture(Stream stream, const Known& known, const StreamLaunch& launch,
                             void** arguments);
  /// Looks up stream and function, and checks the launch. The context is current afterwards.
  Result<Memo> checked(StreamId stream, const StreamLaunch& launch);
  /// Issues a checked launch.
  Status issue(const Memo& memo, const StreamLaunch& launch);
  /// Returns the last launch of a stream; null if there was none.
  std::shared_ptr<Last> last_of(StreamId stream);
  /// Returns the error of a wait. Launch for the first wait that sees a kernel's fault.
  Status waited(int code, StreamId stream);

  CudaDevice& device_;
  const Driver& driver_;
  std::shared_mutex mutex_;  ///< Guards the members below.
  Handles streams_, events_, graphs_, execs_, pinned_;
  Handles foreign_;  ///< The members of streams_ that were created elsewhere.
  std::unordered_map<uint64_t, uint64_t> managed_;  ///< Bytes by address.
  Handles captured_;                                ///< Streams with an active capture.
  std::unordered_map<FunctionId, std::shared_ptr<const Known>> functions_;
  FunctionId next_function_ = 1;
  std::vector<std::unique_ptr<std::function<void()>>> captured_calls_;
  std::unordered_map<StreamId, std::shared_ptr<Last>> last_;
  std::atomic<bool> is_capturing_ = false;  ///< captured_ is not empty; saves launches a query.
  std::atomic<uint64_t> generation_ = 1;    ///< Changes when a stream or a function is forgotten.
  std::mutex order_mutex_;                  ///< Guards the members below.
  std::unordered_map<Stream, CaptureOrder> orders_;
  std::mutex findings_mutex_;  ///< Guards the member below.
  std::vector<DeviceFinding> findings_;
};

}  // namespace gpuemu::cuda
