// Copies tensors with the same strides, so that a variant is timed on the same case.
#include "ops/dispatch/tuning_copy.h"

namespace gpuemu {
namespace {

/// Requires that check_case() accepted the tensor.
uint64_t extent_bytes(const DeviceTensor& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    last += tensor.strides[i] * (tensor.shape[i] - 1);
  }
  return static_cast<uint64_t>(last + 1) * byte_size(tensor.dtype);
}

}  // namespace

/// Creates a separate stream, which does not interfere with captures of other threads.
Status TuningCopy::follow(StreamId stream) {
  own_ = GPUEMU_TRY(streams_.make_stream({.non_blocking = true}));
  const EventId now = GPUEMU_TRY(streams_.make_event());
  Status ordered = streams_.record(now, stream);
  if (ordered) ordered = streams_.wait_event(own_, now);
  const Status freed = streams_.free_event(now);
  return ordered ? freed : ordered;
}

Result<DeviceTensor> TuningCopy::copy_of(const DeviceTensor& tensor, bool content) {
  DeviceTensor copy = tensor;
  const uint64_t bytes = extent_bytes(tensor);
  copy.address = GPUEMU_TRY(device_.allocate(bytes, "timing"));
  owned_.push_back(copy.address);
  if (content && bytes > 0) {
    GPUEMU_TRY(streams_.copy(own_, copy.address, tensor.address, bytes));
  }
  return copy;
}

Result<std::unique_ptr<TuningCopy>> TuningCopy::create(Device& device, Streams& streams,
                                                       const OpCase& original, StreamId stream) {
  std::unique_ptr<TuningCopy> made(new TuningCopy(device, streams, original));
  GPUEMU_TRY(made->follow(stream));
  for (const DeviceTensor& tensor : original.inputs) {
    made->inputs_.push_back(GPUEMU_TRY(made->copy_of(tensor, true)));
  }
  for (const DeviceTensor& tensor : original.outputs) {
    made->outputs_.push_back(GPUEMU_TRY(made->copy_of(tensor, false)));
  }
  return made;
}

TuningCopy::~TuningCopy() {
  // A lost device frees nothing, and its process ends soon.
  for (const uint64_t address : owned_) (void)device_.free(address).ok();
  if (own_ != kDefaultStream) (void)streams_.free_stream(own_).ok();
}

}  // namespace gpuemu
