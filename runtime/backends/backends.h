// The only folder that knows every backend by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/contraction.h"
#include "runtime/device/device.h"

namespace gpuemu {

struct DeviceRequest {
  std::string backend =
      "auto";     ///< "auto", "cuda", "emulator" or "null". auto: cuda where a device answers.
  int index = 0;  ///< Which GPU.
  int sm = 80;    ///< Emulator: the architecture to be.
  uint32_t threads = 0;  ///< Emulator: blocks run at once; 0: one per core.
  uint64_t memory_limit_bytes = uint64_t{8} << 30;
  Contraction contraction = Contraction::Auto;
};

/// InvalidArgument for an unknown backend (lists those there are), Unavailable when the device is
/// not there (says why and what to choose instead).
Result<std::unique_ptr<Device>> open_device(const DeviceRequest& request);

/// Every GPU that answers, then the emulator. Makes no context and takes no device memory.
std::vector<DeviceProperties> list_devices();

}  // namespace gpuemu
