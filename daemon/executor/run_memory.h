// The memory for runs of plans: on the device, and host memory for uploads and downloads. Created
// once per device, so that a case of small tensors on a GPU costs few driver calls: memory comes
// from a cache, and copies are issued together and waited for once.
//
// On a device that checks bounds, every tensor gets an allocation of its own, with its name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/memory/pool.h"
#include "runtime/device/memory_kinds.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// Not thread-safe.
class RunMemory {
 public:
  /// The device must outlive it.
  explicit RunMemory(Device& device);
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  Device& device() { return device_; }

  /// Like BlankMemory::allocate_blank() and Device::free().
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name);
  Status free(uint64_t address, uint64_t bytes);

  /// Makes memory returned by host() available again; waits for unfinished copies.
  void reuse_host();
  /// Returns memory with undefined content, owned by the caller until reuse_host().
  std::span<std::byte> host(uint64_t bytes);
  /// `from` must stay unchanged until settle(), and come from host() unless copies_now(). A later
  /// launch sees the bytes.
  Status upload(uint64_t address, std::span<const std::byte> from);
  /// Returns whether upload() has ended when it returns.
  bool copies_now() const { return streams_ == nullptr; }
  /// `to` must come from host(); it has the bytes after settle().
  Status download(std::span<std::byte> to, uint64_t address);
  /// Waits for the copies.
  Status settle();

 private:
  void grow_host(uint64_t bytes);

  Device& device_;
  BlankMemory* const blank_;    ///< Null: allocate() does no work that could be saved.
  Streams* streams_ = nullptr;  ///< Null: everything is synchronous.
  std::unique_ptr<Pool>
      pool_;  ///< Keeps small blocks; null on a device that checks bounds or has no streams.
  /// The memory of host() as long as it is large enough; pinned if there are streams.
  std::byte* block_ = nullptr;
  bool pinned_ = false;
  std::vector<std::byte> unpinned_;
  uint64_t block_bytes_ = 0, used_bytes_ = 0;
  std::vector<std::vector<std::byte>> more_;  ///< What did not fit.
  bool copying_ = false;                      ///< Copies were issued since the last settle().
};

}  // namespace gpuemu
