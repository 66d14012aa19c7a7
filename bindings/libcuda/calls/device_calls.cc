// Implements cuDevice*: devices and their primary contexts.
#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "bindings/libcuda/calls/contexts.h"
#include "bindings/libcuda/calls/device_attributes.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

int copy_text(const std::string& text, char* to, int bytes) {
  if (to == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t length = std::min(text.size(), static_cast<size_t>(bytes) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  return CUDA_SUCCESS;
}

/// Every device has a PCI bus of its own.
std::string bus_id(int device) { return fmt::format("0000:{:02X}:00.0", device + 1); }

}  // namespace

GPUEMU_DRIVER_API int cuDeviceGet(int* device, int ordinal) {
  return with_device(ordinal, [&](Process&, DeviceSlot&) -> int {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetCount(int* count) {
  return driver_call([&](Process& driver) -> int {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(driver.devices.size());
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetName(char* name, int bytes, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) {
    return copy_text(fmt::format("gpuemu sm_{}", slot.device->properties().sm), name, bytes);
  });
}

GPUEMU_DRIVER_API int cuDeviceGetUuid(Uuid* uuid, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::string text =
        fmt::format("gpuemu sm_{:03}{:04}", slot.device->properties().sm % 1000, device % 10000);
    std::memset(uuid->bytes, 0, sizeof uuid->bytes);
    std::memcpy(uuid->bytes, text.data(), std::min(text.size(), sizeof uuid->bytes));
    uuid->bytes[15] = static_cast<char>(device + 1);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  return cuDeviceGetUuid(uuid, device);
}

GPUEMU_DRIVER_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = slot.device->properties().memory_bytes;
    return CUDA_SUCCESS;
  });
}

/// The 32-bit form of CUDA 2: reports at most 4 GiB.
GPUEMU_DRIVER_API int cuDeviceTotalMem(unsigned* bytes, int device) {
  size_t all = 0;
  const int code = cuDeviceTotalMem_v2(&all, device);
  if (code != CUDA_SUCCESS || bytes == nullptr) return code == 0 ? CUDA_ERROR_INVALID_VALUE : code;
  *bytes = static_cast<unsigned>(std::min<size_t>(all, ~0u));
  return CUDA_SUCCESS;
}

GPUEMU_DRIVER_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto known = device_attribute(slot.device->properties(), attribute);
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    *value = *known;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceComputeCapability(int* major, int* minor, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *major = slot.device->properties().sm / 10;
    *minor = slot.device->properties().sm % 10;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetProperties(DeviceProperty* property, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (property == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto of = [&](int attribute) {
      return device_attribute(slot.device->properties(), attribute).value_or(0);
    };
    *property = {of(1),
                 {of(2), of(3), of(4)},
                 {of(5), of(6), of(7)},
                 of(8),
                 of(9),
                 of(10),
                 of(11),
                 of(12),
                 of(13),
                 of(14)};
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
  return with_device(device, [&](Process&, DeviceSlot&) -> int {
    const std::string text = bus_id(device);
    if (bytes <= static_cast<int>(text.size())) return CUDA_ERROR_INVALID_VALUE;
    return copy_text(text, id, bytes);
  });
}

GPUEMU_DRIVER_API int cuDeviceGetByPCIBusId(int* device, const char* id) {
  return driver_call([&](Process& driver) -> int {
    if (device == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (int one = 0; driver.device(one) != nullptr; ++one) {
      const std::string text = bus_id(one);
      const std::string short_text = text.substr(5);
      if (text == id || short_text == id || text.substr(0, text.size() - 2) == id) {
        *device = one;
        return CUDA_SUCCESS;
      }
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

/// Every device can access the memory of every other one.
GPUEMU_DRIVER_API int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return with_device(device, [&](Process& driver, DeviceSlot&) -> int {
    if (driver.device(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *can = device == peer ? 0 : 1;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  return with_device(from, [&](Process& driver, DeviceSlot&) -> int {
    constexpr int kFirst = 1, kAccess = 2, kLast = 5;
    if (driver.device(to) == nullptr || from == to) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr || attribute < kFirst || attribute > kLast) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *value = attribute == kAccess ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxRetain(Context* context, int device) {
  return with_device(device, [&](Process& driver, DeviceSlot& slot) -> int {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(slot.mutex);
    if (slot.primary == nullptr) {
      slot.primary = make_context(driver, device, slot.primary_flags, true);
    }
    ++slot.primary_users;
    *context = slot.primary;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxRelease_v2(int device) {
  return with_device(device, [&](Process& driver, DeviceSlot& slot) -> int {
    Context gone = nullptr;
    {
      const std::lock_guard lock(slot.mutex);
      if (slot.primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
      if (--slot.primary_users == 0) gone = std::exchange(slot.primary, nullptr);
    }
    if (gone != nullptr) destroy_context(driver, gone);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxRelease(int device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxReset_v2(int device) {
  return with_device(device, [&](Process& driver, DeviceSlot& slot) -> int {
    Context gone = nullptr;
    {
      const std::lock_guard lock(slot.mutex);
      gone = std::exchange(slot.primary, nullptr);
      slot.primary_users = 0;
      slot.lost = CUDA_SUCCESS;
      slot.faults.clear();
    }
    if (gone != nullptr) destroy_context(driver, gone);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxReset(int device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  return with_device(device, [&](Process& driver, DeviceSlot& slot) -> int {
    if (!are_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    slot.primary_flags = flags;
    const std::lock_guard lock(slot.mutex);
    if (const auto primary = driver.contexts.find(slot.primary); primary != nullptr) {
      primary->flags = flags;
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

GPUEMU_DRIVER_API int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(slot.mutex);
    *flags = slot.primary_flags;
    *active = slot.primary != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
