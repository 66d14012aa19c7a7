#include "bindings/libcuda/calls/device_attributes.h"

#include "runtime/emulator/gpu_models.h"

namespace gpuemu::libcuda {

std::optional<int> device_attribute(const DeviceProperties& device, int attribute) {
  // Uses the part's count. The emulator's own count is that of the host's processors, which no GPU
  // program expects.
  const emulator::Part& part = emulator::part_of(device.sm);
  switch (attribute) {
#define GPUEMU_DEVICE_ATTRIBUTE(number, value) \
  case number:                                 \
    return static_cast<int>(value);
#include "bindings/libcuda/calls/device_attributes.def"
#undef GPUEMU_DEVICE_ATTRIBUTE
    default:
      return std::nullopt;
  }
}

}  // namespace gpuemu::libcuda
