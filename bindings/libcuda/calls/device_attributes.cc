#include "bindings/libcuda/calls/device_attributes.h"

namespace gpuemu::libcuda {
namespace {

struct Multiprocessors {
  int sm, multiprocessors;
};
/// Multiprocessors of Quadro RTX 6000, A100, A40, L40, H100, B200 and RTX PRO
/// 6000 Blackwell. The emulator's own count is that of
/// the host's processors, which no GPU program expects.
constexpr Multiprocessors kParts[] = {{75, 72},  {80, 108},  {86, 84},  {89, 142},
                                      {90, 132}, {100, 148}, {120, 188}};

Multiprocessors part_of(int sm) {
  Multiprocessors found = kParts[0];
  for (const Multiprocessors& part : kParts) {
    if (part.sm <= sm) found = part;
  }
  return found;
}

}  // namespace

std::optional<int> device_attribute(const DeviceProperties& device, int attribute) {
  const Multiprocessors part = part_of(device.sm);
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
