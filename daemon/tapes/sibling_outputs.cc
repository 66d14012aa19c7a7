#include "daemon/tapes/sibling_outputs.h"

#include <algorithm>
#include <utility>

namespace gpuemu {
namespace {

std::vector<const DeviceBytes*> memory_of(const std::vector<TapeDevice::Operand>& inputs) {
  std::vector<const DeviceBytes*> memory;
  for (const TapeDevice::Operand& one : inputs) memory.push_back(one.memory.get());
  return memory;
}

}  // namespace

DeviceCopy SiblingOutputs::take(const std::string& call,
                                const std::vector<TapeDevice::Operand>& inputs, size_t output) {
  const std::lock_guard lock(mutex_);
  if (kept_.call != call || output >= kept_.outputs.size() || kept_.inputs != memory_of(inputs)) {
    return nullptr;
  }
  return std::exchange(kept_.outputs[output], nullptr);
}

void SiblingOutputs::keep(std::string call, const std::vector<TapeDevice::Operand>& inputs,
                          std::vector<DeviceCopy> outputs) {
  // Without inputs nothing would say when they are no longer wanted.
  if (inputs.empty()) outputs.clear();
  Kept made{std::move(call), memory_of(inputs), std::move(outputs)};
  const std::lock_guard lock(mutex_);
  std::swap(kept_, made);
}

void SiblingOutputs::clear() { keep({}, {}, {}); }

void SiblingOutputs::forget_reader_of(const DeviceBytes* input) {
  Kept gone;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(kept_.inputs, input) != kept_.inputs.end()) std::swap(kept_, gone);
}

}  // namespace gpuemu
