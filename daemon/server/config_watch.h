// The current content of gpuemu.toml.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// Reads the configuration again whenever its file has changed. Thread-safe.
class ConfigWatch {
 public:
  /// `first` is the configuration with which the daemon started.
  ConfigWatch(ConfigSources sources, Config first);
  /// Reads the file on first use. Requires sources that name it.
  explicit ConfigWatch(ConfigSources sources);
  /// InvalidArgument lists every problem of the file, one per line.
  Result<std::shared_ptr<const Config>> current();

 private:
  std::string stamp() const;

  const ConfigSources sources_;
  const std::string file_;
  std::mutex mutex_;
  std::string stamp_;                     // Guarded by mutex_.
  std::shared_ptr<const Config> config_;  // Guarded by mutex_.
};

}  // namespace gpuemu
