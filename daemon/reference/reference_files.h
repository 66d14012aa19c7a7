// Records the files that reference scripts read while they ran, so that a verdict is not taken for
// today's after one of them has changed.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gpuemu {

/// What one interpreter has seen one script read. Files of Python's installed packages, of the
/// system, and those that the script wrote itself are left out.
struct ReferenceReads {
  std::vector<std::string> files;  ///< Absolute paths; some may not exist.
  /// False when there may be more: it started programs, asked the network, or ended early.
  bool complete = true;
};

/// The files that all interpreters of a daemon have read. Thread-safe.
class ReferenceFiles {
 public:
  void add(const std::string& script, const ReferenceReads& reads);
  /// All that is known; not complete for a script that has not run.
  ReferenceReads of(const std::string& script) const;

 private:
  struct Known {
    std::set<std::string> files;
    bool complete = true;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Known> scripts_;  // Guarded by mutex_.
};

}  // namespace gpuemu
