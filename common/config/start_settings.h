// What a daemon reads when it starts and not again.
#pragma once

#include <map>
#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// What the emulator is to present, as GPUEMU_EMULATED_DEVICES has it: "sm_75, sm_80:16384"; ""
/// when nothing says it.
std::string emulated_devices_of(const Config& config);

/// Keys and values, as `config show` lists them.
std::map<std::string, std::string> start_settings(const Config& config);

/// Compares the settings of `wanted` that come from the environment or a flag with those of a
/// running daemon. Returns the first difference, as in `runtime.backend = "auto", expected
/// "emulator"`, or "". Settings that the daemon did not report are not compared.
std::string unlike_environment(const Config& wanted,
                               const std::map<std::string, std::string>& served);

}  // namespace gpuemu
