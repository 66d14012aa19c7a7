// Checks, before a program runs, whether our libcuda.so.1 can replace the driver in it.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"

namespace gpuemu::cli {

/// Returns Unsupported with the reason and a remedy if the program cannot run on the emulator: it
/// is linked statically, is setuid or setgid, or contains NVIDIA's runtime library. Accepts files
/// that do not exist or are no ELF file for this processor, such as scripts.
Status check_program(const std::string& command,
                     const std::map<std::string, std::string>& environment);

}  // namespace gpuemu::cli
