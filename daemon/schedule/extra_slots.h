// Slots in addition to a daemon's own: of the other backend, or with arithmetic compiled in another
// way. They give a second opinion about a case. Created at their first use.
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
  std::string contraction;  ///< "" for that of the daemon's own slots.
  uint64_t contraction_seed = 0;
  /// For a case that keeps its own lane meanwhile: does not wait for another lane.
  bool within_case = false;
  auto operator<=>(const SlotVariant&) const = default;
};

/// Thread-safe.
class ExtraSlots {
 public:
  /// `own` are the options of the daemon's slots; `backends` are those of this machine.
  ExtraSlots(const SlotPoolOptions& own, std::vector<std::string> backends);
  ~ExtraSlots();

  const std::string& own_backend() const;
  /// Returns the backend that could contradict the daemon's own; "" if there is none.
  std::string other_backend() const;
  /// Returns Unavailable for a backend that this machine does not have.
  Result<SlotPool*> get(const SlotVariant& variant);
  /// Returns the pools that get() has created so far.
  std::vector<const SlotPool*> pools() const;
  /// Ends all waiting, now and later; creates no more slots.
  void shutdown();

 private:
  const std::unique_ptr<const SlotPoolOptions> own_;
  const std::vector<std::string> backends_;
  mutable std::mutex mutex_;
  bool ended_ = false;                                      // Guarded by mutex_.
  std::map<SlotVariant, std::unique_ptr<SlotPool>> pools_;  // Guarded by mutex_.
};

}  // namespace gpuemu
