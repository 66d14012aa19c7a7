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

/// "runtime.backend = "auto", expected "emulator"" for the first setting that the environment of
/// `wanted` or a flag says and that a daemon does not have that told `served`; "" when there is
/// none. What it did not tell is not compared.
std::string unlike_environment(const Config& wanted,
                               const std::map<std::string, std::string>& served);

}  // namespace gpuemu
