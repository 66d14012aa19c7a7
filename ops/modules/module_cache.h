// The modules of one device: each text is loaded once, and each entry looked up once. CUDA sources
// are compiled when an instance is first requested; runtime/compile caches the results on disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// An entry that can be launched. The numbers are those of the compiled code if the driver reports
/// them, else -1 (EntryInfo).
struct LoadedEntry {
  FunctionId function = 0;
  EntryInfo info;
  ModuleId module = 0;
  std::string module_hash;  ///< Hash of the module's PTX.
};

struct ModuleSource {
  std::string name;  ///< File name, for messages.
  std::string text;  ///< CUDA C++.
  std::vector<std::string> include_dirs = {};
  std::vector<std::string> flags = {};
};

/// Thread-safe. Modules stay loaded until the cache is destroyed.
class ModuleCache {
 public:
  /// `device` must outlive the cache. `folder` keeps compiled PTX between processes; "" keeps none.
  /// Unsupported for a device without streams.
  static Result<std::unique_ptr<ModuleCache>> create(Device& device, std::string folder);
  ~ModuleCache();
  ModuleCache(const ModuleCache&) = delete;
  ModuleCache& operator=(const ModuleCache&) = delete;

  /// Compile if the text is not valid PTX, NotFound (with the existing names) if there is no such
  /// entry. The result is valid as long as the cache.
  Result<const LoadedEntry*> entry(const std::string& ptx, const std::string& name,
                                   const std::string& entry);
  /// Compiles the source for `expression`, such as "cast<float, __half>", once. Unsupported if the
  /// machine has no compiler.
  Result<const LoadedEntry*> instance(const ModuleSource& source, const std::string& expression);

  /// The number of loaded modules, and of requests that found theirs loaded.
  struct Counts {
    size_t modules = 0, compiled = 0, hits = 0;
  };
  Counts counts() const;

 private:
  struct Loaded {
    ModuleId id = 0;
    std::string hash;
    std::map<std::string, std::unique_ptr<LoadedEntry>> entries;
  };

  ModuleCache(Device& device, Streams& streams, std::string folder)
      : device_(device), streams_(streams), folder_(std::move(folder)) {}
  Result<Loaded*> load(const std::string& ptx, const std::string& name);
  Result<const LoadedEntry*> find(Loaded& module, const std::string& entry);

  Device& device_;
  Streams& streams_;
  const std::string folder_;
  mutable std::mutex mutex_;
  std::map<std::string, Loaded> modules_;  ///< By hash of the PTX.
  std::map<std::string, const LoadedEntry*> instances_;
  Counts counts_;
};

}  // namespace gpuemu
