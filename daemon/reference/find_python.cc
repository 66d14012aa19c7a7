// Each candidate is started once; one that hangs is given up.
#include "daemon/reference/find_python.h"

#include <array>

#include "daemon/process/child_process.h"

namespace gpuemu {
namespace {

/// NumPy on a cold disk takes seconds.
constexpr uint64_t kImportMilliseconds = 30'000;

bool imports_numpy(const std::string& python) {
  auto child = ChildProcess::spawn({{python, "-c", "import numpy"}, "", {}});
  return child && child->wait(deadline_after(kImportMilliseconds)) == 0;
}

}  // namespace

std::string find_python(const std::string& configured, const std::string& project_folder) {
  if (!configured.empty()) return configured;
  const std::array<std::string, 3> candidates = {project_folder + "/.venv/bin/python", "python3",
                                                 "/usr/bin/python3"};
  for (const std::string& candidate : candidates) {
    if (imports_numpy(candidate)) return candidate;
  }
  return "python3";
}

}  // namespace gpuemu
