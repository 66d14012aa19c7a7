// Streams of the emulated device. Issued work is added to the queues.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/emulator/program/launch.h"
#include "runtime/emulator/queues/queues.h"

namespace gpuemu::emulator {

class Emulator;

class EmulatorStreams final : public Streams {
 public:
  EmulatorStreams(Emulator& device, Queues& queues) : device_(device), queues_(queues) {}

  PriorityRange priorities() const override { return queues_.priorities(); }
  Result<StreamId> make_stream(const StreamOptions& options) override;
  Status free_stream(StreamId stream) override { return queues_.free_stream(stream); }
  Status synchronize(StreamId stream) override;
  Status synchronize_all() override;
  Result<bool> query(StreamId stream) override { return queues_.query(stream); }
  Result<EventId> make_event() override { return queues_.make_event(); }
  Status free_event(EventId event) override { return queues_.free_event(event); }
  Status record(EventId event, StreamId stream) override { return queues_.record(event, stream); }
  Status wait_event(StreamId stream, EventId event) override {
    return queues_.wait_event(stream, event);
  }
  Status synchronize_event(EventId event) override;
  Result<bool> query_event(EventId event) override { return queues_.query_event(event); }
  Result<float> elapsed_ms(EventId from, EventId to) override {
    return queues_.elapsed_ms(from, to);
  }
  Status upload(StreamId stream, uint64_t address, std::span<const std::byte> from) override;
  Status download(StreamId stream, std::span<std::byte> to, uint64_t address,
                  const UndefinedCopied& undefined) override;
  Status copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
              const UndefinedCopied& undefined) override;
  Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) override;
  Status host_call(StreamId stream, std::function<void()> work) override;
  /// Makes later work of the stream wait until the integer of 4 or 8 bytes at the address meets the
  /// condition, whoever writes it.
  Status wait_value(StreamId stream, uint64_t address, uint64_t bytes,
                    std::function<bool(uint64_t)> is_met);
  Result<FunctionId> function(ModuleId module, const std::string& entry) override;
  Status launch(StreamId stream, const StreamLaunch& launch) override;
  void set_checks(StreamChecks checks) override;
  std::vector<DeviceFinding> take_findings() override;
  Status begin_capture(StreamId stream) override { return queues_.begin_capture(stream); }
  Result<GraphId> end_capture(StreamId stream) override { return queues_.end_capture(stream); }
  Result<bool> is_capturing(StreamId stream) override { return queues_.is_capturing(stream); }
  Result<size_t> graph_nodes(GraphId graph) override { return queues_.graph_nodes(graph); }
  Result<GraphExecId> instantiate(GraphId graph) override { return queues_.instantiate(graph); }
  Status launch_graph(GraphExecId graph, StreamId stream) override;
  Status free_graph(GraphId graph) override { return queues_.free_graph(graph); }
  Status free_graph_exec(GraphExecId graph) override { return queues_.free_graph_exec(graph); }
  Result<void*> allocate_host(uint64_t bytes) override;
  /// Host memory and device memory are the same.
  Result<void*> allocate_managed(uint64_t bytes) override { return allocate_host(bytes); }
  Status free_host(void* memory) override;
  Status adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) override;
  Status release_memory(uint64_t address, uint64_t bytes) override;
  Result<StreamId> adopt_stream(void* native) override;

  /// Removes the functions of an unloaded module.
  void forget(ModuleId module);

 private:
  struct Function {
    ModuleId module = 0;
    EntryInfo info;
  };
  /// A launch that was issued. A graph executes it again and again.
  struct Order {
    std::shared_ptr<const Function> function;
    uint64_t tag = 0;
    LaunchConfig config;
    bool tells_touched = false;
    std::shared_ptr<const StreamChecks> checks;  ///< The checks that `config` asks for.
    Repetition repetition;                       ///< What `config` needs again.
  };
  /// Returns `done`, or an error if the device was lost meanwhile.
  Status ready_after(const Status& done) const;
  /// Runs on the thread that executes the queues.
  Status run(Order& order);
  void tell_undefined(const UndefinedCopied& told, uint64_t from, uint64_t bytes);
  /// Runs the launch and calls StreamChecks::touched.
  Result<LaunchReport> launch_and_tell(const Order& order, const StreamChecks& checks,
                                       LaunchConfig config);

  Emulator& device_;
  Queues& queues_;
  std::shared_mutex functions_mutex_;
  std::map<FunctionId, std::shared_ptr<const Function>> functions_;
  std::map<std::pair<ModuleId, std::string>, FunctionId> known_;
  FunctionId next_function_ = 1;
  std::mutex checks_mutex_;  ///< Guards the members below.
  std::shared_ptr<const StreamChecks> checks_ = std::make_shared<const StreamChecks>();
  std::vector<DeviceFinding> findings_;
  std::vector<void*> pinned_;
};

}  // namespace gpuemu::emulator
