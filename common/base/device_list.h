// Parses the list of devices that the emulator presents, from gpuemu.toml or the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

/// As many as the largest hosts have GPUs.
inline constexpr size_t kEmulatedDevicesMax = 16;

struct EmulatedDevice {
  int sm = 80;
  uint64_t memory_bytes = 0;  ///< 0: as much as the request allows.
};

/// Parses "sm_90", also names of code for that device alone or its family: "sm_90a", "sm_100f".
/// InvalidArgument lists the architectures.
Result<int> parse_emulated_architecture(std::string_view name);
/// InvalidArgument, listing the architectures, if the emulator does not support this one (80 for
/// 8.0).
Status check_emulated_architecture(int sm);
/// Returns the newest architecture that is not newer than `sm`; the oldest for still older code.
int nearest_emulated_architecture(int sm);

/// Parses "sm_75" or "sm_80:16384": the architecture, optionally with the memory in MiB.
/// InvalidArgument lists the architectures.
Result<EmulatedDevice> parse_emulated_device(std::string_view text);

/// Parses for example "sm_75, sm_80:16384, sm_90"; at most kEmulatedDevicesMax devices.
Result<std::vector<EmulatedDevice>> parse_emulated_devices(std::string_view text);

}  // namespace gpuemu
