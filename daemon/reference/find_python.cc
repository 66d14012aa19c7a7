// Each candidate is started once; one that hangs is given up. One that imports NumPy is not asked
// again: a daemon opens many projects with the same interpreter.
#include "daemon/reference/find_python.h"

#include <array>
#include <mutex>
#include <set>

#include "daemon/process/child_process.h"

namespace gpuemu {
namespace {

/// NumPy on a cold disk takes seconds.
constexpr uint64_t kImportMilliseconds = 30'000;

class Interpreters {
 public:
  bool import_numpy(const std::string& python) {
    {
      const std::lock_guard lock(mutex_);
      if (able_.contains(python)) return true;
    }
    auto child = ChildProcess::spawn({{python, "-c", "import numpy"}, "", {}});
    if (!child || child->wait(deadline_after(kImportMilliseconds)) != 0) return false;
    const std::lock_guard lock(mutex_);
    able_.insert(python);
    return true;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> able_;  // Guarded by mutex_.
};

}  // namespace

std::string find_python(const std::string& configured, const std::string& project_folder) {
  if (!configured.empty()) return configured;
  const std::array<std::string, 3> candidates = {project_folder + "/.venv/bin/python", "python3",
                                                 "/usr/bin/python3"};
  static Interpreters known;
  for (const std::string& candidate : candidates) {
    if (known.import_numpy(candidate)) return candidate;
  }
  return "python3";
}

}  // namespace gpuemu
