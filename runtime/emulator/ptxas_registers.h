// How many registers the entries of modules need on a GPU, asked of its compiler when a launch
// could fail for want of them, which the text of PTX does not tell.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/device/device.h"
#include "runtime/device/launch_check.h"

namespace gpuemu::emulator {

/// Any thread.
class Registers {
 public:
  /// Without a counter nothing is known and nothing refused.
  Registers(RegisterCounter counter, int sm) : counter_(std::move(counter)), sm_(sm) {}

  void add(ModuleId module, const std::string& ptx);
  void forget(ModuleId module);
  /// InvalidArgument when a block needs more than a GPU of these properties has.
  Status check(ModuleId module, const EntryInfo& entry, const LaunchShape& shape,
               const DeviceProperties& properties);

 private:
  struct Module {
    std::string ptx;
    std::optional<std::map<std::string, int>> counts;  ///< Since somebody asked.
  };

  const RegisterCounter counter_;
  const int sm_;
  /// Guards what follows; a second launch waits for the answer that the first asked for.
  std::mutex mutex_;
  std::map<ModuleId, Module> modules_;
};

}  // namespace gpuemu::emulator
