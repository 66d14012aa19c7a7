// A copy of a call's tensors on which variants are timed, because in-place ops must not run twice
// on the caller's tensors.
#pragma once

#include <memory>
#include <vector>

#include "kernels/op.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class TuningCopy {
 public:
  /// Inputs are copied, so that data-dependent kernels take the same paths: with their contents
  /// after the work issued to `stream` so far. Does not wait for or query other streams.
  /// ResourceExhausted if the device has no memory for the copies.
  static Result<std::unique_ptr<TuningCopy>> create(Device& device, Streams& streams,
                                                    const OpCase& original, StreamId stream);
  ~TuningCopy();
  TuningCopy(const TuningCopy&) = delete;
  TuningCopy& operator=(const TuningCopy&) = delete;

  /// Returns the stream on which the copies can be used; ordered only after `stream` at the time of
  /// the copy.
  StreamId stream() const { return own_; }
  OpCase view() const {
    OpCase copy = original_;
    copy.inputs = inputs_;
    copy.outputs = outputs_;
    return copy;
  }

 private:
  TuningCopy(Device& device, Streams& streams, const OpCase& original)
      : device_(device), streams_(streams), original_(original) {}
  Status follow(StreamId stream);
  Result<DeviceTensor> copy_of(const DeviceTensor& tensor, bool content);

  Device& device_;
  Streams& streams_;
  const OpCase original_;
  std::vector<DeviceTensor> inputs_, outputs_;
  std::vector<uint64_t> owned_;
  StreamId own_ = kDefaultStream;
};

}  // namespace gpuemu
