// The project a request works on: the configuration as it is now, its kernels, its cases. Made anew
// for every request that needs it, so that an edited gpuemu.toml or kernel is what runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/config/config.h"
#include "daemon/engine/campaign.h"
#include "daemon/engine/kernel_store.h"
#include "daemon/schedule/lane_pool.h"

namespace gpuemu {

/// Reads the configuration again whenever its file has changed. Thread-safe.
class ConfigWatch {
 public:
  /// `first` is what the daemon started with.
  ConfigWatch(ConfigSources sources, Config first);
  /// InvalidArgument with every problem of the file, one per line.
  Result<std::shared_ptr<const Config>> current();

 private:
  std::string stamp() const;

  const ConfigSources sources_;
  const std::string file_;
  std::mutex mutex_;
  std::string stamp_;                     // Guarded by mutex_.
  std::shared_ptr<const Config> config_;  // Guarded by mutex_.
};

/// Used by the request that made it, with as many threads as it likes.
class Project {
 public:
  Project(std::shared_ptr<const Config> config, LanePool& lanes, const std::string& cache_folder,
          const std::string& arch)
      : config_(std::move(config)),
        kernels_(*config_, cache_folder, arch),
        campaign_(*config_, kernels_, lanes) {}
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  const Config& config() const { return *config_; }
  Campaign& campaign() { return campaign_; }

 private:
  std::shared_ptr<const Config> config_;
  KernelStore kernels_;
  Campaign campaign_;
};

}  // namespace gpuemu
