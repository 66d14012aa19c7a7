// Where a pool takes its segments from: the memory of a device, or pinned memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/result.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// ResourceExhausted when there is none.
  virtual Result<uint64_t> take(uint64_t bytes) = 0;
  /// Waits for the work that may use it.
  virtual Status give_back(uint64_t address) = 0;
  virtual Result<MemoryInfo> info() = 0;
  virtual Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// Waits for the stream.
  virtual Status read(StreamId stream, std::span<std::byte> to, uint64_t address) = 0;
  /// nullptr where there are no streams: then everything is in order.
  virtual Streams* streams() = 0;
  /// The host writes it without asking a stream: nobody may have it before it is out of use.
  virtual bool is_hosts() const = 0;
};

/// The device has to outlive it.
std::unique_ptr<MemorySource> device_memory(Device& device);
/// Unsupported where the device has no streams, which pinned memory is for.
Result<std::unique_ptr<MemorySource>> pinned_memory(Device& device);

}  // namespace gpuemu
