// Copies with the same strides, so that a variant sees the case that it is timed for.
#include "runtime/dispatch/scratch_case.h"

namespace gpuemu {
namespace {

/// REQUIRES: check_case accepted the tensor.
uint64_t extent_bytes(const TensorView& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    last += tensor.strides[i] * (tensor.shape[i] - 1);
  }
  return static_cast<uint64_t>(last + 1) * byte_size(tensor.dtype);
}

}  // namespace

Result<TensorView> ScratchCase::copy_of(Streams& streams, const TensorView& tensor, bool content) {
  TensorView copy = tensor;
  const uint64_t bytes = extent_bytes(tensor);
  copy.address = GPUEMU_TRY(device_.allocate(bytes, "timing"));
  owned_.push_back(copy.address);
  if (content && bytes > 0) {
    GPUEMU_TRY(streams.copy(kDefaultStream, copy.address, tensor.address, bytes));
  }
  return copy;
}

Result<std::unique_ptr<ScratchCase>> ScratchCase::create(Device& device, Streams& streams,
                                                         const OpCase& original) {
  // What the caller's streams still compute is what will be read.
  GPUEMU_TRY(streams.synchronize_all());
  std::unique_ptr<ScratchCase> made(new ScratchCase(device, original));
  for (const TensorView& tensor : original.inputs) {
    made->inputs_.push_back(GPUEMU_TRY(made->copy_of(streams, tensor, true)));
  }
  for (const TensorView& tensor : original.outputs) {
    made->outputs_.push_back(GPUEMU_TRY(made->copy_of(streams, tensor, false)));
  }
  return made;
}

ScratchCase::~ScratchCase() {
  // A lost device frees nothing, and its process ends soon.
  for (const uint64_t address : owned_) (void)device_.free(address).ok();
}

}  // namespace gpuemu
