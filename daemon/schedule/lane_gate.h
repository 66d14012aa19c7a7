// Limits how many cases run at a time in all slot pools of a daemon, and decides whose case is
// next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "daemon/schedule/fair_queue.h"

namespace gpuemu {

/// How busy the lanes are, as far as it concerns one session.
struct LaneUsage {
  bool others_wait = false;  ///< A case of another session waits for a lane.
  size_t own = 0;            ///< Lanes that the session holds.
};

/// Gives each free lane to the session that FairQueue selects, if the pool of its case has a free
/// slot. Thread-safe.
class LaneGate : public Waker {
 public:
  using Ticket = FairQueue::Ticket;

  /// REQUIRES: lanes > 0.
  explicit LaneGate(size_t lanes) : lanes_(lanes) {}

  /// Adds a pool that takes its lanes here; `slots` is the number of cases that it can run at a
  /// time.
  uint64_t add_pool(size_t slots);
  /// Sets how many more cases the pool may run at a time, on remote workers. All pools share those
  /// workers: the gate gets as many extra lanes as the pool with the most.
  void set_extra(uint64_t pool, size_t slots);
  /// REQUIRES: no thread waits for the pool, and none of its lanes is held.
  void remove_pool(uint64_t pool);

  /// A lane whose case has ended after `used`.
  struct Held {
    Ticket ticket = 0;
    std::chrono::microseconds used{0};
  };
  /// Waits for a lane, for a case of this pool. Returns nothing when `ended()` is true, which it
  /// checks again after wake(). `before` is released in the same step; the case gets that lane if
  /// FairQueue allows.
  std::optional<Ticket> enter(uint64_t pool, const LaneClaim& claim,
                              const std::function<bool()>& ended,
                              const std::optional<Held>& before = std::nullopt);
  /// Releases a lane that was held for `used`.
  void leave(Ticket ticket, std::chrono::microseconds used);
  /// Makes all waiting threads check ended() again.
  void wake() override;
  /// Number of waiting calls, for this pool and for all pools.
  size_t waiting(uint64_t pool) const;
  size_t waiting() const;
  /// Returns how busy the lanes are, as far as it concerns the session of this claim.
  LaneUsage usage(const LaneClaim& claim) const;

 private:
  struct Waiter {
    std::condition_variable changed;
    bool served = false;
  };
  struct Pool {
    size_t slots = 0, extra = 0, running = 0, waiting = 0;
    bool has_room() const { return running < slots + extra; }
  };
  FairQueue::Time now() const;
  void serve_waiting(std::optional<Ticket> keeps = std::nullopt);
  void end(Ticket ticket, std::chrono::microseconds used);
  bool has_free_lane() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  const size_t lanes_;
  // Guarded by mutex_:
  FairQueue queue_;
  std::map<uint64_t, Pool> pools_;
  std::map<Ticket, uint64_t> running_;  ///< The pool of each.
  std::map<Ticket, Waiter*> waiters_;
  uint64_t last_pool_ = 0;
};

}  // namespace gpuemu
