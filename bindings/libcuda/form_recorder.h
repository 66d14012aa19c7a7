// Records the instruction forms of this process's kernels, for the fidelity report.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/libcuda/settings.h"
#include "runtime/device/device.h"

namespace gpuemu::libcuda {

/// With `--fidelity` it counts what kernels execute. Counting takes time, so otherwise only the PTX
/// of the launched kernels is kept, for `gpuemu run` to read. Does nothing without `gpuemu run`.
/// Thread-safe after start().
class FormRecorder {
 public:
  /// Must be called once, before anything else.
  void start(const Settings& settings);
  /// Keeps the text of a module until the report. Returns the name of its file; "" if none is
  /// needed or it cannot be written.
  std::string keep(const std::string& ptx);
  /// Notes that a kernel of a module is launched. `code` is what keep() returned.
  void launched(const std::string& entry, const std::string& code, int sm);
  /// Counts what a launch executed.
  void ended(const std::string& entry, int sm, const LaunchReport& report);
  /// Completes the record when the process exits.
  void finish();

 private:
  struct Count {
    uint64_t count = 0;
    uint64_t written = 0;  ///< The part of it that is in the file.
  };
  using Kernel = std::pair<std::string, int>;  ///< Its name in PTX and the architecture.

  void write_counts(const Kernel& kernel, std::map<std::string, Count>& forms);
  void write(const std::string& line);

  std::string folder_;
  bool counts_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::FILE* file_ = nullptr;
  std::map<Kernel, std::map<std::string, Count>> kernels_;
  std::set<std::tuple<std::string, std::string, int>> noted_;  ///< The arguments of launched().
};

}  // namespace gpuemu::libcuda
