// The project that a request works on: its current configuration, kernels and cases. Created for
// every request that needs it, so that edits of gpuemu.toml or a kernel take effect.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/config/config.h"
#include "daemon/campaign/campaign.h"
#include "daemon/explain/case_explanation.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/schedule/extra_slots.h"
#include "daemon/server/config_watch.h"
#include "daemon/storage/store.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {

/// Used by the request that created it, with any number of threads.
class Project {
 public:
  /// Where its cases run.
  using Slots = CampaignSlots;
  /// `store` must outlive the project.
  Project(std::shared_ptr<const Config> config, Slots slots, Store& store,
          const std::string& cache_folder, const std::string& arch)
      : config_(std::move(config)),
        slots_(slots),
        store_(store),
        kernels_(*config_, cache_folder, arch),
        campaign_(*config_, kernels_, slots, own_backend(), variant_memory()) {}
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  const Config& config() const { return *config_; }
  Campaign& campaign() { return campaign_; }
  /// Ends compilers once `cancel`, which must outlive the project, is true. Call it before any
  /// kernel is requested.
  void stop_when(const std::atomic<bool>& cancel) { kernels_.stop_when(cancel); }
  /// Returns a campaign on slots other than the daemon's own. Unavailable if there are none. Not
  /// thread-safe.
  Result<Campaign*> campaign_on(const SlotVariant& variant);
  /// For explanations. Valid as long as the project. Not thread-safe.
  ExplainMachines machines();

 private:
  std::string own_backend() const {
    return slots_.side == nullptr ? std::string(kEmulatorBackend) : slots_.side->own_backend();
  }

  VariantMemory variant_memory() const {
    return {[this](const std::string& name) { return store_.meta(name); },
            [this](const std::string& name, const std::string& text) {
              return store_.put_meta(name, text);
            }};
  }

  std::shared_ptr<const Config> config_;
  const Slots slots_;
  Store& store_;
  KernelStore kernels_;
  Campaign campaign_;
  std::map<SlotVariant, std::unique_ptr<Campaign>> on_side_;
};

}  // namespace gpuemu
