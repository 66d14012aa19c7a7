// Where the cases of a project run: devices of one backend, and slots with the settings that
// workers and reference processes get when they start.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "daemon/schedule/extra_slots.h"
#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

/// One gate for each backend, made by the first project that runs on it. Thread-safe.
class LaneGates {
 public:
  /// `lanes` counts where there is none yet.
  std::shared_ptr<LaneGate> of(const std::string& backend, size_t lanes);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LaneGate>> gates_;  // Guarded by mutex_.
};

/// Fixed once it is made; its slots may be used by any thread. REQUIRES: no lease is out when it
/// goes.
struct Lanes {
  std::string key;                   ///< Configurations with the same lanes_key() can share it.
  std::vector<DeviceInfo> devices;   ///< All of one backend.
  std::string backend;               ///< What "auto" became.
  std::string arch;                  ///< What kernels are compiled for.
  std::string python;                ///< Runs references.
  std::unique_ptr<SlotPool> slots;   ///< Not null.
  std::unique_ptr<ExtraSlots> side;  ///< Not null.

  void shutdown() {
    slots->shutdown();
    side->shutdown();
  }
};

/// What slots are made of, as text.
std::string lanes_key(const Config& config);

/// Unavailable when no device answers. May start an interpreter or two to find one for references.
Result<std::shared_ptr<Lanes>> make_lanes(const Config& config, const std::string& worker_program,
                                          LaneGates& gates);

}  // namespace gpuemu
