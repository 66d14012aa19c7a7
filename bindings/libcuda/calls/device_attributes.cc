#include "bindings/libcuda/calls/device_attributes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/emulator/gpu_models.h"

namespace gpuemu::libcuda {

std::optional<int> device_attribute(const DeviceProperties& device, int attribute) {
  // Uses the part's count. The emulator's own count is that of the host's processors, which no GPU
  // program expects.
  const emulator::Part& part = emulator::part_of(device.sm);
  const std::pair<int, int> values[] = {
#define GPUEMU_DEVICE_ATTRIBUTE(number, value) {number, static_cast<int>(value)},
#include "bindings/libcuda/calls/device_attributes.def"
#undef GPUEMU_DEVICE_ATTRIBUTE
  };
  const auto* const found = std::ranges::find(values, attribute, &std::pair<int, int>::first);
  if (found == std::end(values)) return std::nullopt;
  return found->second;
}

}  // namespace gpuemu::libcuda
