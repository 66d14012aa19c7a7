// The settings that a daemon reads only when it starts.
#pragma once

#include <map>
#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// Returns the devices to emulate, in the form of GPUEMU_EMULATED_DEVICES, such as "sm_75,
/// sm_80:16384"; "" if none are set.
std::string emulated_devices_of(const Config& config);

/// Returns keys and values, as `config show` lists them.
std::map<std::string, std::string> start_settings(const Config& config);

/// Compares the settings of `wanted` that come from the environment or a flag with those of a
/// running daemon. Returns the first difference, for example `runtime.backend = "auto", expected
/// "emulator"`, or "". Settings that the daemon did not report are skipped.
std::string unlike_environment(const Config& wanted,
                               const std::map<std::string, std::string>& served);

}  // namespace gpuemu
