// The source of a pool's segments: device memory, or pinned host memory.
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

  /// ResourceExhausted if there is none left.
  virtual Result<uint64_t> take(uint64_t bytes) = 0;
  /// Waits for work that may use it.
  virtual Status give_back(uint64_t address) = 0;
  virtual Result<MemoryInfo> info() = 0;
  virtual Status fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) = 0;
  /// Waits for the stream.
  virtual Status read(StreamId stream, std::span<std::byte> to, uint64_t address) = 0;
  /// Returns null if there are no streams; then all work is in order.
  virtual Streams* streams() = 0;
  /// Returns whether the host accesses it without a stream, so that it must not be reused before
  /// all work is done.
  virtual bool is_hosts() const = 0;
};

/// The device must outlive it.
std::unique_ptr<MemorySource> device_memory(Device& device);
/// Unsupported if the device has no streams, for which pinned memory is used.
Result<std::unique_ptr<MemorySource>> pinned_memory(Device& device);

}  // namespace gpuemu
