// Shared memory for the tensors of one case: a memfd that can grow. The worker and the reference
// process inherit its descriptor and map it themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// Alignment of tensors in an arena: a cache line, so that any vector load of NumPy is aligned.
inline constexpr uint64_t kArenaAlignment = 64;

/// Returns the bytes up to the next aligned offset.
constexpr uint64_t arena_aligned(uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

class Arena {
 public:
  /// Creates an empty memory. `fd()` may be inherited: dup2 in the child clears close-on-exec.
  static Result<Arena> create();
  /// Maps a memory that another process created. Takes ownership of the descriptor.
  static Result<Arena> open(UniqueFd fd);

  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  /// Makes at least `bytes` available, and invalidates spans taken before. Called by the creator
  /// only.
  Status grow(uint64_t bytes);
  /// Maps the memory again after the creator has grown it, and invalidates spans taken before.
  Status refresh();
  /// Calls refresh() only if the mapped memory ends before `end`.
  Status reach(uint64_t end) { return end <= bytes_ ? ok_status() : refresh(); }
  /// InvalidArgument if the range is not inside the memory.
  Result<std::span<std::byte>> range(uint64_t offset, uint64_t bytes);

 private:
  Status map(uint64_t bytes);
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace gpuemu
