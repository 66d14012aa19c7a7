// The environment variables of this process.
#pragma once

#include <map>
#include <string>

namespace gpuemu {

/// Called by main(), which passes the variables on: other code does not read the environment
/// itself.
std::map<std::string, std::string> environment_of_process();

}  // namespace gpuemu
