// Records the files that reference scripts read, so that a verdict is not reused after one of them
// has changed.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gpuemu {

/// The files that one interpreter has seen one script read, without those of installed Python
/// packages, of the system, and those that the script wrote itself.
struct ReferenceReads {
  std::vector<std::string> files;  ///< Absolute paths; some may not exist.
  /// False if there may be more: the script started programs, used the network, or ended early.
  bool complete = true;
};

/// The files read by all interpreters of a daemon. Thread-safe.
class ReferenceFiles {
 public:
  void add(const std::string& script, const ReferenceReads& reads);
  /// Returns all known files; not complete for a script that has not run.
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
