// Test device: host memory with the emulator's queues as streams. Has no kernels.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/emulator/queues/queues.h"

namespace gpuemu {

class TestDevice final : public Device, public Streams {
 public:
  TestDevice(uint64_t limit, uint64_t seed) : limit_(limit), queues_(seed) {}

  const DeviceProperties& properties() const override { return properties_; }
  Result<MemoryInfo> memory() override {
    const std::lock_guard lock(mutex_);
    return MemoryInfo{limit_, limit_ - used_};
  }
  Result<Streams*> streams() override { return this; }
  Result<uint64_t> allocate(uint64_t bytes, const std::string&) override {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - used_) return error(ErrorCode::ResourceExhausted, "the device is full");
    used_ += bytes;
    return place(bytes);
  }
  Status free(uint64_t address) override {
    GPUEMU_TRY(queues_.settle(true));
    const std::lock_guard lock(mutex_);
    used_ -= memory_.at(address).bytes;
    memory_.erase(address);
    return ok_status();
  }
  Status upload(uint64_t, std::span<const std::byte>) override { return refuse(); }
  Status download(std::span<std::byte> to, uint64_t address) override {
    GPUEMU_TRY(queues_.settle(false));
    std::memcpy(to.data(), at(address), to.size());
    return ok_status();
  }
  Status fill(uint64_t address, std::byte value, uint64_t bytes) override {
    GPUEMU_TRY(queues_.settle(false));
    std::memset(at(address), std::to_integer<int>(value), bytes);
    return ok_status();
  }
  Result<uint64_t> make_texture(const TextureConfig&) override { return refuse(); }
  Status free_texture(uint64_t) override { return refuse(); }
  Result<ModuleId> load_module(const std::string&, const std::string&) override { return refuse(); }
  Status unload_module(ModuleId) override { return refuse(); }
  Result<std::vector<EntryInfo>> entries(ModuleId) override { return refuse(); }
  Result<LaunchReport> launch(ModuleId, const LaunchConfig&) override { return refuse(); }

  PriorityRange priorities() const override { return queues_.priorities(); }
  Result<StreamId> make_stream(const StreamOptions& o) override { return queues_.make_stream(o); }
  Status free_stream(StreamId stream) override { return queues_.free_stream(stream); }
  Status synchronize(StreamId stream) override { return queues_.synchronize(stream); }
  Status synchronize_all() override { return queues_.synchronize_all(); }
  Result<bool> query(StreamId stream) override { return queues_.query(stream); }
  Result<EventId> make_event() override { return queues_.make_event(); }
  Status free_event(EventId event) override { return queues_.free_event(event); }
  Status record(EventId event, StreamId stream) override { return queues_.record(event, stream); }
  Status wait_event(StreamId s, EventId event) override { return queues_.wait_event(s, event); }
  Status synchronize_event(EventId event) override { return queues_.synchronize_event(event); }
  Result<bool> query_event(EventId event) override { return queues_.query_event(event); }
  Result<float> elapsed_ms(EventId a, EventId b) override { return queues_.elapsed_ms(a, b); }
  Status upload(StreamId stream, uint64_t address, std::span<const std::byte> from) override {
    return submit(stream, [=] { std::memcpy(at(address), from.data(), from.size()); });
  }
  Status download(StreamId stream, std::span<std::byte> to, uint64_t address,
                  const UndefinedCopied&) override {
    return submit(stream, [=] { std::memcpy(to.data(), at(address), to.size()); });
  }
  Status copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
              const UndefinedCopied&) override {
    return submit(stream, [=] { std::memmove(at(to), at(from), bytes); });
  }
  Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) override {
    return submit(stream, [=] { std::memset(at(address), std::to_integer<int>(value), bytes); });
  }
  Status host_call(StreamId stream, std::function<void()> work) override {
    return submit(stream, std::move(work));
  }
  Result<FunctionId> function(ModuleId, const std::string&) override { return refuse(); }
  Status launch(StreamId, const StreamLaunch&) override { return refuse(); }
  void set_checks(StreamChecks) override {}
  std::vector<DeviceFinding> take_findings() override { return {}; }
  Status begin_capture(StreamId stream) override { return queues_.begin_capture(stream); }
  Result<GraphId> end_capture(StreamId stream) override { return queues_.end_capture(stream); }
  Result<bool> is_capturing(StreamId stream) override { return queues_.is_capturing(stream); }
  Result<size_t> graph_nodes(GraphId graph) override { return queues_.graph_nodes(graph); }
  Result<GraphExecId> instantiate(GraphId graph) override { return queues_.instantiate(graph); }
  Status launch_graph(GraphExecId g, StreamId s) override { return queues_.launch_graph(g, s); }
  Status free_graph(GraphId graph) override { return queues_.free_graph(graph); }
  Status free_graph_exec(GraphExecId graph) override { return queues_.free_graph_exec(graph); }
  Result<void*> allocate_host(uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    return at(place(bytes));
  }
  Result<void*> allocate_managed(uint64_t bytes) override { return allocate_host(bytes); }
  Status free_host(void* memory) override {
    GPUEMU_TRY(queues_.settle(true));
    const std::lock_guard lock(mutex_);
    memory_.erase(reinterpret_cast<uint64_t>(memory));
    return ok_status();
  }
  Status adopt_memory(uint64_t, uint64_t, const std::string&) override { return refuse(); }
  Status release_memory(uint64_t, uint64_t) override { return refuse(); }
  Result<StreamId> adopt_stream(void*) override { return refuse(); }

 private:
  struct Memory {
    uint64_t bytes = 0;
    std::unique_ptr<std::byte[]> storage;
  };

  static Error refuse() { return error(ErrorCode::Unsupported, "the test device cannot do it"); }
  static void* at(uint64_t address) { return reinterpret_cast<void*>(address); }
  uint64_t place(uint64_t bytes) {
    auto storage = std::make_unique<std::byte[]>(bytes + kAlign);
    const auto address = (reinterpret_cast<uint64_t>(storage.get()) + kAlign - 1) / kAlign * kAlign;
    memory_[address] = {bytes, std::move(storage)};
    return address;
  }
  Status submit(StreamId stream, std::function<void()> work) {
    return queues_.submit(stream, [work = std::move(work)] {
      work();
      return ok_status();
    });
  }

  static constexpr uint64_t kAlign = 256;
  DeviceProperties properties_{.backend = "test"};
  std::mutex mutex_;  ///< Guards the members below.
  uint64_t limit_, used_ = 0;
  std::map<uint64_t, Memory> memory_;
  emulator::Queues queues_;  ///< Last, so that its thread ends before the memory is freed.
};

}  // namespace gpuemu
