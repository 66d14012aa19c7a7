#include "bindings/libcudart/calls/device_properties.h"

#include <type_traits>

#include "bindings/libcudart/driver.h"

namespace gpuemu::libcudart {

void fill_properties(DeviceProperties& properties, int device) {
  properties = {};
  (void)cuDeviceGetName(properties.name, sizeof properties.name, device);
  (void)cuDeviceGetUuid_v2(&properties.uuid, device);
  (void)cuDeviceTotalMem_v2(&properties.memory_bytes, device);
  const auto set = [device](auto& member, int attribute) {
    int value = 0;
    (void)cuDeviceGetAttribute(&value, attribute, device);
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  };
#define GPUEMU_DEVICE_PROPERTY(member, attribute) set(properties.member, attribute);
#include "bindings/libcudart/calls/device_properties.def"
#undef GPUEMU_DEVICE_PROPERTY
}

}  // namespace gpuemu::libcudart
