#include "common/base/environment.h"

#include <unistd.h>

extern char** environ;

namespace gpuemu {

std::map<std::string, std::string> environment_of_process() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return all;
}

}  // namespace gpuemu
