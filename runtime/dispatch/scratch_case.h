// A copy of a call's tensors, on which variants can be timed: ops that work in place must not be
// run twice on the caller's.
#pragma once

#include <memory>
#include <vector>

#include "kernels/op.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class ScratchCase {
 public:
  /// Inputs are copied, so that data-dependent kernels do what they will do. ResourceExhausted when
  /// the device has no memory for the copies.
  static Result<std::unique_ptr<ScratchCase>> create(Device& device, Streams& streams,
                                                     const OpCase& original);
  ~ScratchCase();
  ScratchCase(const ScratchCase&) = delete;
  ScratchCase& operator=(const ScratchCase&) = delete;

  OpCase view() const {
    OpCase copy = original_;
    copy.inputs = inputs_;
    copy.outputs = outputs_;
    return copy;
  }

 private:
  ScratchCase(Device& device, const OpCase& original) : device_(device), original_(original) {}
  Result<TensorView> copy_of(Streams& streams, const TensorView& tensor, bool content);

  Device& device_;
  const OpCase original_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<uint64_t> owned_;
};

}  // namespace gpuemu
