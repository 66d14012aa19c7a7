// Copies tensors out of memory that a client shares, without mapping it: a client that ends,
// shrinks its memory or writes to it meanwhile only corrupts its own copy and cannot harm the
// daemon.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/limits.h"
#include "common/codec/shared_tensor.h"

namespace gpuemu {

/// One object per request; limits the total size of its tensors. Not thread-safe.
class ClientSharedMemory {
 public:
  /// NotFound if the process or its descriptor cannot be accessed, belongs to another user, or is
  /// not a memfd of that name. InvalidArgument if the memfd does not contain those bytes, or the
  /// request exceeds kMessageBytesMax in total.
  Result<std::vector<std::byte>> fetch(const SharedTensorRef& where);

 private:
  uint64_t bytes_left_ = kMessageBytesMax;
};

}  // namespace gpuemu
