// Lanes that are not a daemon's own: of the other backend, or with arithmetic compiled in another
// way. A second opinion about a case comes from them. Made when they are first asked for.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/schedule/lane_pool.h"

namespace gpuemu {

struct SideWish {
  std::string backend;
  std::string contraction;  ///< "": as the daemon's own lanes have it.
  uint64_t contraction_seed = 0;
  auto operator<=>(const SideWish&) const = default;
};

/// Thread-safe.
class SideLanes {
 public:
  /// `own` is what the daemon's lanes were made with; `backends` those that this machine has.
  SideLanes(LanePoolOptions own, std::vector<std::string> backends)
      : own_(std::move(own)), backends_(std::move(backends)) {}

  const std::string& own_backend() const { return own_.worker.backend; }
  /// The one that could contradict the own one; "" where there is none.
  std::string other_backend() const;
  /// Unavailable for a backend that this machine does not have.
  Result<LanePool*> get(const SideWish& wish);
  /// Ends all waiting, now and later; makes no more lanes.
  void shutdown();

 private:
  const LanePoolOptions own_;
  const std::vector<std::string> backends_;
  std::mutex mutex_;
  bool ended_ = false;                                   // Guarded by mutex_.
  std::map<SideWish, std::unique_ptr<LanePool>> pools_;  // Guarded by mutex_.
};

}  // namespace gpuemu
