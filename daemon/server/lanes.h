// The devices of one backend, and the slots in which a project's cases run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/daemon.gen.h"
#include "daemon/schedule/extra_slots.h"
#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

class RemotePool;

/// The gate of each backend, created by the first project that uses it. Thread-safe.
class LaneGates {
 public:
  /// `lanes` is only used if the gate does not exist yet.
  std::shared_ptr<LaneGate> of(const std::string& backend, size_t lanes);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LaneGate>> gates_;  // Guarded by mutex_.
};

/// Immutable; the slots are thread-safe. Requires every lease to be returned before destruction.
struct Lanes {
  std::string key;                   ///< lanes_key() of its configuration.
  std::vector<DeviceInfo> devices;   ///< All of one backend.
  std::string backend;               ///< Name of a backend, never "auto".
  std::string arch;                  ///< Architecture for which kernels are compiled.
  std::string python;                ///< Runs references.
  std::unique_ptr<SlotPool> slots;   ///< Not null.
  std::unique_ptr<ExtraSlots> side;  ///< Not null.

  void shutdown() {
    slots->shutdown();
    side->shutdown();
  }
};

/// Returns a text of all settings on which slots depend.
std::string lanes_key(const Config& config);

/// What runs the kernels of all projects of a daemon.
struct WorkerSetup {
  std::string program;                       ///< Path of gpuemu-worker.
  std::shared_ptr<RemotePool> remotes = {};  ///< Null if the daemon does not listen for workers.
  bool processes = true;                     ///< The daemon has worker processes of its own.
  /// Kernels run in the daemon if it has neither a worker process nor a remote worker.
  bool falls_back = false;
  /// Held while a kernel runs in the daemon, so that only one does.
  std::shared_ptr<std::mutex> turn = std::make_shared<std::mutex>();
  std::function<void(const std::string& line)> log;
};

/// Unavailable if no device answers. Runs Python interpreters to find one for references.
Result<std::shared_ptr<Lanes>> make_lanes(const Config& config, const WorkerSetup& workers,
                                          LaneGates& gates);

}  // namespace gpuemu
