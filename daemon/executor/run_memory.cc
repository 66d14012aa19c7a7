#include "daemon/executor/run_memory.h"

#include <algorithm>
#include <bit>

namespace gpuemu {
namespace {

/// Largest block taken from the pool. Larger blocks are allocated by the driver, which unmaps them
/// when they are freed, so that accesses far out of bounds give an illegal address. Below 2 MiB the
/// driver itself keeps memory mapped.
constexpr uint64_t kPooledBytesMax = uint64_t{1} << 20;
constexpr uint64_t kHostBytesMin = uint64_t{1} << 20, kHostBytesMax = uint64_t{16} << 20;
constexpr uint64_t kHostAlignment = 64;

uint64_t rounded(uint64_t bytes) { return (bytes + kHostAlignment - 1) & ~(kHostAlignment - 1); }

}  // namespace

RunMemory::RunMemory(Device& device) : device_(device), blank_(blank_memory_of(device)) {
  if (device.properties().checks_bounds) return;
  if (const auto streams = device.streams()) streams_ = *streams;
  if (streams_ != nullptr) pool_ = std::make_unique<Pool>(device_memory(device), PoolOptions());
}

RunMemory::~RunMemory() {
  if (copying_) static_cast<void>(settle().ok());
  // A lost device refuses; its process ends soon, and the memory with it.
  if (pinned_) static_cast<void>(streams_->free_host(block_).ok());
}

Result<uint64_t> RunMemory::allocate(uint64_t bytes, const std::string& name) {
  const bool pooled = pool_ != nullptr && bytes <= kPooledBytesMax;
  if (pooled) return pool_->allocate(bytes, name);
  return blank_ != nullptr ? blank_->allocate_blank(bytes, name) : device_.allocate(bytes, name);
}

Status RunMemory::free(uint64_t address, uint64_t bytes) {
  const bool pooled = pool_ != nullptr && bytes <= kPooledBytesMax;
  return pooled ? pool_->free(address) : device_.free(address);
}

void RunMemory::grow_host(uint64_t bytes) {
  const uint64_t wanted = std::bit_ceil(std::clamp(bytes, kHostBytesMin, kHostBytesMax));
  if (wanted <= block_bytes_) return;
  if (pinned_) static_cast<void>(streams_->free_host(block_).ok());
  unpinned_.clear();
  const auto pinned =
      streams_ != nullptr ? streams_->allocate_host(wanted) : Result<void*>(Error{});
  pinned_ = pinned.ok();
  if (!pinned_) unpinned_.resize(wanted);
  block_ = pinned_ ? static_cast<std::byte*>(*pinned) : unpinned_.data();
  block_bytes_ = wanted;
}

void RunMemory::reuse_host() {
  // Only a lost device fails, and it copies nothing any more.
  if (copying_) static_cast<void>(settle().ok());
  uint64_t needed = used_bytes_;
  for (const auto& one : more_) needed += rounded(one.size());
  more_.clear();
  used_bytes_ = 0;
  grow_host(needed);
}

std::span<std::byte> RunMemory::host(uint64_t bytes) {
  const uint64_t taken = rounded(bytes);
  if (taken > block_bytes_ - used_bytes_) return more_.emplace_back(bytes);
  const std::span<std::byte> place(block_ + used_bytes_, bytes);
  used_bytes_ += taken;
  return place;
}

Status RunMemory::upload(uint64_t address, std::span<const std::byte> from) {
  if (from.empty()) return ok_status();
  copying_ = true;
  return streams_ != nullptr ? streams_->upload(kDefaultStream, address, from)
                             : device_.upload(address, from);
}

Status RunMemory::download(std::span<std::byte> to, uint64_t address) {
  if (to.empty()) return ok_status();
  copying_ = true;
  return streams_ != nullptr ? streams_->download(kDefaultStream, to, address)
                             : device_.download(to, address);
}

Status RunMemory::settle() {
  copying_ = false;
  return streams_ != nullptr ? streams_->synchronize(kDefaultStream) : ok_status();
}

}  // namespace gpuemu
