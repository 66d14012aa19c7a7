// The only folder that knows every backend by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/contraction.h"
#include "runtime/device/device.h"
#include "runtime/device/launch_check.h"

namespace gpuemu {

class Debugger;  // runtime/device/debug.h

/// As much as there is: of the GPU, or of the host's memory for the emulator.
inline constexpr uint64_t kNoMemoryLimit = UINT64_MAX;

struct DeviceRequest {
  std::string backend =
      "auto";     ///< "auto", "cuda", "emulator" or "null". auto: cuda where a device answers.
  int index = 0;  ///< Index of the GPU, or of the emulated device.
  int sm = 0;     ///< Emulator: the architecture to be; 0: that of the emulated device.
  uint32_t threads = 0;  ///< Emulator: blocks run at once; 0: one per core.
  uint64_t memory_limit_bytes = uint64_t{8} << 30;
  Contraction contraction = Contraction::Auto;
  uint64_t contraction_seed = 0;   ///< Emulator: which products Contraction::Random fuses.
  uint64_t schedule_seed = 0;      ///< Emulator: the order between streams; 0: as issued.
  RegisterCounter registers = {};  ///< Emulator: knows what kernels need; EmulatorOptions.
  Debugger* debugger = nullptr;    ///< Emulator: asked before every instruction.
  /// The devices that the emulator presents, as in "sm_75, sm_80:16384"; "": what the environment
  /// lists.
  std::string emulated_devices = {};
};

/// InvalidArgument for an unknown backend (lists those there are), Unavailable when the device is
/// not there (says why and what to choose instead).
Result<std::unique_ptr<Device>> open_device(const DeviceRequest& request);

/// Every GPU that answers, then the emulated devices. Makes no context and takes no device memory.
/// `emulated` is as DeviceRequest::emulated_devices. InvalidArgument when it or the environment
/// lists devices that cannot be emulated. `memory_limit_bytes`: what emulated devices have that
/// `emulated` gives none, as in a DeviceRequest.
Result<std::vector<DeviceProperties>> list_devices(
    const std::string& emulated = "",
    uint64_t memory_limit_bytes = DeviceRequest().memory_limit_bytes);

}  // namespace gpuemu
