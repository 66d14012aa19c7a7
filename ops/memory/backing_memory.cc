#include "ops/memory/backing_memory.h"

#include <cstring>

namespace gpuemu {
namespace {

class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {
    if (const auto streams = device.streams()) streams_ = *streams;
  }
  Result<uint64_t> take(uint64_t bytes) override { return device_.allocate(bytes, "pool"); }
  Status give_back(uint64_t address) override { return device_.free(address); }
  Result<MemoryInfo> info() override { return device_.memory(); }
  Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) override {
    return streams_ == nullptr ? device_.fill(address, value, bytes)
                               : streams_->fill(stream, address, value, bytes);
  }
  Status read(StreamId stream, std::span<std::byte> to, uint64_t address) override {
    if (streams_ == nullptr) return device_.download(to, address);
    GPUEMU_TRY(streams_->download(stream, to, address));
    return streams_->synchronize(stream);
  }
  Streams* streams() override { return streams_; }
  bool is_hosts() const override { return false; }

 private:
  Device& device_;
  Streams* streams_ = nullptr;
};

class PinnedMemory final : public MemorySource {
 public:
  explicit PinnedMemory(Streams& streams) : streams_(streams) {}
  Result<uint64_t> take(uint64_t bytes) override {
    return reinterpret_cast<uint64_t>(GPUEMU_TRY(streams_.allocate_host(bytes)));
  }
  Status give_back(uint64_t address) override {
    return streams_.free_host(reinterpret_cast<void*>(address));
  }
  /// Host memory is not counted.
  Result<MemoryInfo> info() override { return MemoryInfo{}; }
  Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) override {
    GPUEMU_TRY(streams_.synchronize(stream));
    std::memset(reinterpret_cast<void*>(address), std::to_integer<int>(value), bytes);
    return ok_status();
  }
  Status read(StreamId stream, std::span<std::byte> to, uint64_t address) override {
    GPUEMU_TRY(streams_.synchronize(stream));
    std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
    return ok_status();
  }
  Streams* streams() override { return &streams_; }
  bool is_hosts() const override { return true; }

 private:
  Streams& streams_;
};

}  // namespace

std::unique_ptr<MemorySource> device_memory(Device& device) {
  return std::make_unique<DeviceMemory>(device);
}

Result<std::unique_ptr<MemorySource>> pinned_memory(Device& device) {
  Streams* streams = GPUEMU_TRY(device.streams());
  return std::unique_ptr<MemorySource>(std::make_unique<PinnedMemory>(*streams));
}

}  // namespace gpuemu
