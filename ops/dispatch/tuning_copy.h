// A copy of a call's tensors, on which variants can be timed: ops that work in place must not be
// run twice on the caller's.
#pragma once

#include <memory>
#include <vector>

#include "kernels/op.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class TuningCopy {
 public:
  /// Inputs are copied, so that data-dependent kernels do what they will do: with the contents that
  /// they have after what `stream` was given so far. Other streams are neither waited for nor
  /// asked. ResourceExhausted when the device has no memory for the copies.
  static Result<std::unique_ptr<TuningCopy>> create(Device& device, Streams& streams,
                                                    const OpCase& original, StreamId stream);
  ~TuningCopy();
  TuningCopy(const TuningCopy&) = delete;
  TuningCopy& operator=(const TuningCopy&) = delete;

  /// Where the copies can be used; what it does is ordered after nothing but `stream` at the time.
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
