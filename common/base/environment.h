// The variables of this process.
#pragma once

#include <map>
#include <string>

namespace gpuemu {

/// For main(), which passes them on: nothing below it reads the environment by itself.
std::map<std::string, std::string> environment_of_process();

}  // namespace gpuemu
