// Determines how many registers the entries of modules need on a GPU. Runs ptxas, because PTX does
// not contain the number, but only when a launch could fail for lack of registers.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/device/device.h"
#include "runtime/device/launch_check.h"

namespace gpuemu::emulator {

/// Register counts of the loaded modules. Thread-safe.
class Registers {
 public:
  /// Without a counter nothing is known, and no launch is refused.
  Registers(RegisterCounter counter, int sm) : counter_(std::move(counter)), sm_(sm) {}

  void add(ModuleId module, const std::string& ptx);
  void forget(ModuleId module);
  /// InvalidArgument if a block needs more registers than a GPU with these properties has.
  Status check(ModuleId module, const EntryInfo& entry, const LaunchShape& shape,
               const DeviceProperties& properties);

 private:
  struct Module {
    std::string ptx;
    std::optional<std::map<std::string, int>> counts;  ///< Empty until the first query.
  };

  const RegisterCounter counter_;
  const int sm_;
  /// Guards the members below. A second launch waits for the query that the first one started.
  std::mutex mutex_;
  std::map<ModuleId, Module> modules_;
};

}  // namespace gpuemu::emulator
