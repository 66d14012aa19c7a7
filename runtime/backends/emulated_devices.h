// Which devices the emulator presents: one of sm_80, or what GPUEMU_EMULATED_DEVICES lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

struct EmulatedDevice {
  int sm = 80;
  uint64_t memory_bytes = 0;  ///< 0: as much as the request allows.
};

/// "sm_75, sm_80:16384, sm_90": architectures, each with its memory in MiB where that is not left
/// open. InvalidArgument names the part that is wrong and what there is.
Result<std::vector<EmulatedDevice>> parse_emulated_devices(const std::string& text);

/// What the environment says; one of sm_80 when it says nothing.
Result<std::vector<EmulatedDevice>> emulated_devices();

}  // namespace gpuemu
