// Memory that several processes map: tensors of one case. A memfd that grows; the descriptor is
// inherited by the worker and by the reference process, which map it themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

class Arena {
 public:
  /// A new memory of zero bytes; `fd()` may be inherited (no close-on-exec is set by dup2 in the
  /// child).
  static Result<Arena> create();
  /// Maps what another process created. The descriptor is owned from now on.
  static Result<Arena> open(UniqueFd fd);

  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  /// Makes at least `bytes` available; spans taken before are invalid. The creator calls it.
  Status grow(uint64_t bytes);
  /// Maps anew when the creator has grown it; spans taken before are invalid. REQUIRES: nothing.
  Status refresh();
  /// InvalidArgument when it does not lie inside.
  Result<std::span<std::byte>> range(uint64_t offset, uint64_t bytes);

 private:
  Status map(uint64_t bytes);
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace gpuemu
