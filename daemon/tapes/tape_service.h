// A worker's side of a tape: keeps tensors on its device and runs ops on them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "daemon/tapes/tape_device.h"
#include "daemon/tapes/tape_messages.h"

namespace gpuemu {

/// For one thread.
class TapeService {
 public:
  using Open = std::function<Result<std::shared_ptr<TapeDevice>>()>;

  /// `open` opens the device when the first tensor comes.
  explicit TapeService(Open open) : open_(std::move(open)) {}

  /// The answer to what a WorkerTapeDevice asks.
  std::vector<std::byte> answer(std::span<const std::byte> request);

 private:
  Result<std::vector<std::byte>> serve(const TapeAsk& ask);
  Status upload(const TapeAsk& ask);
  Status run(const TapeAsk& ask);
  Result<std::vector<std::byte>> download(const TapeAsk& ask);
  Result<DeviceCopy> find(uint64_t number) const;

  const Open open_;
  std::shared_ptr<TapeDevice> device_;
  std::map<uint64_t, DeviceCopy> tensors_;
  /// The tensor that is sent in pieces, one way or the other, and what has come of it.
  uint64_t moving_ = 0;
  std::vector<std::byte> values_;
};

}  // namespace gpuemu
