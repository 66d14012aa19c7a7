// Opens a device by the name of its backend. No other folder names every backend.
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

/// No limit of gpuemu's own: all the memory of the GPU, or for the emulator all of the host's.
inline constexpr uint64_t kNoMemoryLimit = UINT64_MAX;

struct DeviceRequest {
  std::string backend =
      "auto";     ///< "auto", "cuda", "emulator" or "null". "auto" is cuda if a GPU answers.
  int index = 0;  ///< Index of the GPU, or of the emulated device.
  int sm = 0;     ///< Emulator: architecture to emulate, such as 80; 0: the emulated device's own.
  uint32_t threads = 0;  ///< Emulator: blocks that run at once; 0: one per core.
  uint64_t memory_limit_bytes = uint64_t{8} << 30;
  Contraction contraction = Contraction::Auto;
  uint64_t contraction_seed = 0;   ///< Emulator: seed that selects which products
                                   ///< Contraction::Random fuses.
  uint64_t schedule_seed = 0;      ///< Emulator: seed of the order between streams; 0: the order of
                                   ///< issue.
  RegisterCounter registers = {};  ///< Emulator: counts a kernel's registers; see EmulatorOptions.
  Debugger* debugger = nullptr;    ///< Emulator: called before every instruction.
  /// Devices that the emulator presents, for example "sm_75, sm_80:16384". If empty, the list comes
  /// from the environment (emulated_backends.h).
  std::string emulated_devices = {};
};

/// Opens a device. Fails with InvalidArgument for an unknown backend (the message lists the known
/// ones) and with Unavailable when the device is missing (the message says why and what to choose
/// instead).
Result<std::unique_ptr<Device>> open_device(const DeviceRequest& request);

/// Lists every GPU that answers, then the emulated devices. Creates no context and allocates no
/// device memory. `emulated` is as DeviceRequest::emulated_devices; `memory_limit_bytes` applies to
/// the emulated devices for which `emulated` sets no size. Fails with InvalidArgument if `emulated`
/// or the environment lists a device that cannot be emulated.
Result<std::vector<DeviceProperties>> list_devices(
    const std::string& emulated = "",
    uint64_t memory_limit_bytes = DeviceRequest().memory_limit_bytes);

}  // namespace gpuemu
