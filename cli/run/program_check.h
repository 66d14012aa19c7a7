// Looks at a program before it runs: whether our libcuda.so.1 can take the place of the driver in
// it.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"

namespace gpuemu::cli {

/// Unsupported says why the program cannot run on the emulator and what helps: it is linked
/// statically, it is setuid or setgid, or it contains NVIDIA's runtime library. What is no ELF file
/// for this processor, such as a script, and what does not exist is let pass.
Status check_program(const std::string& command,
                     const std::map<std::string, std::string>& environment);

}  // namespace gpuemu::cli
