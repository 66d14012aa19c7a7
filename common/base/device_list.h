// Reads the list of devices that the emulator presents, from gpuemu.toml and the environment.
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

/// "sm_90", or the names of code for that device alone and for its family: "sm_90a", "sm_100f".
/// InvalidArgument says what there is.
Result<int> parse_emulated_architecture(std::string_view name);
/// InvalidArgument unless the emulator can be this architecture, as in 80; it says what there is.
Status check_emulated_architecture(int sm);
/// The newest that is not newer than what code was compiled for; the oldest for still older code.
int nearest_emulated_architecture(int sm);

/// "sm_75" or "sm_80:16384": the architecture, and the memory in MiB where that is not left open.
/// InvalidArgument says what there is.
Result<EmulatedDevice> parse_emulated_device(std::string_view text);

/// "sm_75, sm_80:16384, sm_90": kEmulatedDevicesMax at most.
Result<std::vector<EmulatedDevice>> parse_emulated_devices(std::string_view text);

}  // namespace gpuemu
