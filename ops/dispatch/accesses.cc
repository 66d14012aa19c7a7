#include "ops/dispatch/accesses.h"

namespace gpuemu {
namespace {

MemoryAccess access_of(const DeviceTensor& tensor, bool writes) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (tensor.shape[i] == 0) return {};
    last += tensor.strides[i] * (tensor.shape[i] - 1);
  }
  const auto elements = static_cast<uint64_t>(last) + 1;
  return {tensor.address, tensor.address + elements * byte_size(tensor.dtype), writes};
}

bool has(uint32_t set, size_t index) { return index >= 32 || (set >> index & 1U) != 0; }

}  // namespace

Accesses::Accesses(const OpCase& c, uint64_t workspace_bytes, const LaunchStep& step) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (has(step.inputs, i)) add(access_of(c.in(i), false));
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (has(step.outputs, i)) add(access_of(c.out(i), true));
  }
  if (workspace_bytes > 0) add({c.workspace, c.workspace + workspace_bytes, true});
  if (is_over_) count_ = 0;
}

void Accesses::add(const MemoryAccess& access) {
  if (access.begin == access.end) return;
  is_over_ = is_over_ || count_ == kAccessesMax;
  if (!is_over_) list_[count_++] = access;
}

}  // namespace gpuemu
