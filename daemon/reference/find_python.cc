// Each candidate is started once, with a timeout. A candidate with NumPy is remembered, because a
// daemon opens many projects with the same interpreter. The check finds NumPy without importing it,
// which takes a fifth of the time; the first reference imports it, and reports an error if that
// fails.
#include "daemon/reference/find_python.h"

#include <array>
#include <mutex>
#include <set>

#include "daemon/process/child_process.h"

namespace gpuemu {
namespace {

/// Python on a cold disk takes seconds.
constexpr uint64_t kSearchMilliseconds = 30'000;
constexpr const char* kHasNumpy =
    "import importlib.util, sys; sys.exit(importlib.util.find_spec('numpy') is None)";

class Interpreters {
 public:
  bool have_numpy(const std::string& python) {
    {
      const std::lock_guard lock(mutex_);
      if (able_.contains(python)) return true;
    }
    auto child = ChildProcess::spawn({{python, "-c", kHasNumpy}, "", {}});
    if (!child || child->wait(deadline_after(kSearchMilliseconds)) != 0) return false;
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
    if (known.have_numpy(candidate)) return candidate;
  }
  return "python3";
}

}  // namespace gpuemu
