// Slots that are not a daemon's own: of the other backend, or with arithmetic compiled in another
// way. A second opinion about a case comes from them. Made when they are first asked for.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/schedule/slot_pool.h"

namespace gpuemu {

struct SlotVariant {
  std::string backend;
  std::string contraction;  ///< "": as the daemon's own slots have it.
  uint64_t contraction_seed = 0;
  bool within_case = false;  ///< For a case that keeps its own lane meanwhile: waits for none.
  auto operator<=>(const SlotVariant&) const = default;
};

/// Thread-safe.
class ExtraSlots {
 public:
  /// `own` is what the daemon's slots were made with; `backends` those that this machine has.
  ExtraSlots(SlotPoolOptions own, std::vector<std::string> backends)
      : own_(std::move(own)), backends_(std::move(backends)) {}

  const std::string& own_backend() const { return own_.worker.backend; }
  /// The one that could contradict the own one; "" where there is none.
  std::string other_backend() const;
  /// Unavailable for a backend that this machine does not have.
  Result<SlotPool*> get(const SlotVariant& variant);
  /// The pools that get() has made so far.
  std::vector<const SlotPool*> pools() const;
  /// Ends all waiting, now and later; makes no more slots.
  void shutdown();

 private:
  const SlotPoolOptions own_;
  const std::vector<std::string> backends_;
  mutable std::mutex mutex_;
  bool ended_ = false;                                      // Guarded by mutex_.
  std::map<SlotVariant, std::unique_ptr<SlotPool>> pools_;  // Guarded by mutex_.
};

}  // namespace gpuemu
