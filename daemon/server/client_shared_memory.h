// Copies tensors out of memory that a client shares. Nothing of it is mapped: a client that ends,
// that shrinks its memory or writes into it meanwhile spoils its own copy and cannot harm the
// daemon.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/limits.h"
#include "common/codec/shared_tensor.h"

namespace gpuemu {

/// One for each request: bounds what all of its tensors hold. One thread.
class ClientSharedMemory {
 public:
  /// NotFound when the process or its descriptor cannot be reached, belongs to another user or is
  /// no memfd of that name; InvalidArgument when the memfd does not hold those bytes or the request
  /// asks for more than kMessageBytesMax in all.
  Result<std::vector<std::byte>> fetch(const SharedTensorRef& where);

 private:
  uint64_t bytes_left_ = kMessageBytesMax;
};

}  // namespace gpuemu
