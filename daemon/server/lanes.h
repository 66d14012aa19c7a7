// The devices of one backend and the slots in which the cases of a project run.
#pragma once

#include <functional>
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

/// The gate of each backend, created by the first project that runs on it. Thread-safe.
class LaneGates {
 public:
  /// `lanes` is used only when the gate does not exist yet.
  std::shared_ptr<LaneGate> of(const std::string& backend, size_t lanes);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LaneGate>> gates_;  // Guarded by mutex_.
};

/// Immutable; any thread may use the slots. REQUIRES: every lease is returned before destruction.
struct Lanes {
  std::string key;                   ///< lanes_key() of its configuration.
  std::vector<DeviceInfo> devices;   ///< All of one backend.
  std::string backend;               ///< A backend's name, never "auto".
  std::string arch;                  ///< What kernels are compiled for.
  std::string python;                ///< Runs references.
  std::unique_ptr<SlotPool> slots;   ///< Not null.
  std::unique_ptr<ExtraSlots> side;  ///< Not null.

  void shutdown() {
    slots->shutdown();
    side->shutdown();
  }
};

/// Text of all settings that slots depend on.
std::string lanes_key(const Config& config);

/// What runs the kernels of all projects of a daemon.
struct WorkerSetup {
  std::string program;                       ///< Path of gpuemu-worker.
  std::shared_ptr<RemotePool> remotes = {};  ///< Null where nothing listens for workers.
  bool processes = true;                     ///< Whether the daemon has workers of its own.
  /// Whether kernels run in the daemon where it has no worker process and no remote worker.
  bool falls_back = false;
  /// Held while a kernel runs in the daemon, so that one runs at a time.
  std::shared_ptr<std::mutex> turn = std::make_shared<std::mutex>();
  std::function<void(const std::string& line)> log;
};

/// Unavailable when no device answers. Runs Python interpreters to find one for references.
Result<std::shared_ptr<Lanes>> make_lanes(const Config& config, const WorkerSetup& workers,
                                          LaneGates& gates);

}  // namespace gpuemu
