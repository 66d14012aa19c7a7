// The memory that the runs of plans use, on the device and of the host for what goes there and
// comes back. Made once per device, so that a case of small tensors on a GPU costs a few calls of
// the driver: memory is taken from a cache, and copies are issued together and waited for once.
//
// A device that checks bounds gets every allocation by itself, under its tensor's name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/memory/pool.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// Used by one thread at a time.
class RunMemory {
 public:
  /// The device must outlive it.
  explicit RunMemory(Device& device);
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  Device& device() { return device_; }

  /// As Device::allocate() and free().
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name);
  Status free(uint64_t address, uint64_t bytes);

  /// What host() gave is used again from now on; copies that nobody waited for are waited for.
  void reuse_host();
  /// Memory of undefined content, the caller's until reuse_host().
  std::span<std::byte> host(uint64_t bytes);
  /// `from` is of host() and stays as it is until settle(). A launch that follows sees the bytes.
  Status upload(uint64_t address, std::span<const std::byte> from);
  /// `to` is of host() and has the bytes after settle().
  Status download(std::span<std::byte> to, uint64_t address);
  /// Waits for the copies.
  Status settle();

 private:
  void grow_host(uint64_t bytes);

  Device& device_;
  Streams* streams_ = nullptr;  ///< Null: everything is done at once.
  std::unique_ptr<Pool>
      pool_;  ///< Keeps small blocks; null on a device that checks bounds or has no streams.
  /// What host() gives as long as it suffices: pinned where there are streams.
  std::byte* block_ = nullptr;
  bool pinned_ = false;
  std::vector<std::byte> unpinned_;
  uint64_t block_bytes_ = 0, used_bytes_ = 0;
  std::vector<std::vector<std::byte>> more_;  ///< What did not fit.
  bool copying_ = false;                      ///< Since the last settle().
};

}  // namespace gpuemu
