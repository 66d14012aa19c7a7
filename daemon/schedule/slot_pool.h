// The slots of a daemon. A waiting case gets one when the gate admits it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "daemon/schedule/lane_gate.h"

namespace gpuemu {

class ReferenceFiles;
struct Slot;
struct SlotPoolOptions;
struct WorkerPlaces;

struct SlotStatistics {
  bool busy = false;
  /// At the end of the last lease; -1 if the process did not run.
  int worker_pid = -1, reference_pid = -1;
  uint64_t worker_restarts = 0;
  uint64_t leases = 0;
};

/// The current work of a worker.
struct WorkerActivity {
  double busy = 0;                     ///< Share of the last second in which a case ran.
  std::optional<std::string> session;  ///< The owner of the running case; nothing if none runs.
  uint64_t memory_bytes = 0;           ///< Device memory of the running cases.
};

class SlotPool;

/// The lane of a case that has ended, kept for its owner's next case. The session is charged until
/// the lane is released. Must not outlive the pool. Release it before waiting for anything else.
class HeldLane {
 public:
  HeldLane() = default;
  HeldLane(HeldLane&& other) noexcept { *this = std::move(other); }
  HeldLane& operator=(HeldLane&& other) noexcept {
    std::swap(gate_, other.gate_);
    std::swap(ticket_, other.ticket_);
    std::swap(claim_, other.claim_);
    std::swap(since_, other.since_);
    return *this;
  }
  ~HeldLane() { release(); }
  void release();
  /// Returns the time since its case took the lane; zero if it holds none.
  std::chrono::steady_clock::duration held_for() const {
    return gate_ == nullptr ? Clock::duration(0) : Clock::now() - since_;
  }

 private:
  friend class SlotPool;
  friend class SlotLease;
  using Clock = std::chrono::steady_clock;
  HeldLane(std::shared_ptr<LaneGate> gate, LaneGate::Ticket ticket, LaneClaim claim,
           Clock::time_point since)
      : gate_(std::move(gate)), ticket_(ticket), claim_(std::move(claim)), since_(since) {}
  std::optional<LaneGate::Held> end();

  std::shared_ptr<LaneGate> gate_;  ///< Null if it holds no lane.
  LaneGate::Ticket ticket_ = 0;
  LaneClaim claim_;
  Clock::time_point since_;  ///< When the case took the lane.
};

/// Exclusive use of a slot until the lease is destroyed. Must not outlive the pool.
class SlotLease {
 public:
  SlotLease(SlotLease&& other) noexcept;
  SlotLease& operator=(SlotLease&& other) noexcept;
  ~SlotLease();

  Slot& operator*() const;
  Slot* operator->() const { return &**this; }
  /// Sets the device memory of its case for activity().
  void count_memory(uint64_t bytes);
  /// Returns the slot and keeps the lane.
  HeldLane end_case();
  /// Index of the slot in the pool.
  size_t index() const { return index_; }

 private:
  friend class SlotPool;
  SlotLease(SlotPool& pool, size_t index, LaneGate::Ticket ticket, LaneClaim claim);

  SlotPool* pool_;  ///< Null after a move.
  size_t index_;
  LaneGate::Ticket ticket_;
  LaneClaim claim_;
  uint64_t inside_before_ = 0;
  std::chrono::steady_clock::time_point entered_ = std::chrono::steady_clock::now();
};

/// Thread-safe.
class SlotPool {
 public:
  /// Returns InvalidArgument for no slots, or the error of the shared memory.
  static Result<std::unique_ptr<SlotPool>> create(const SlotPoolOptions& options);
  /// REQUIRES: every lease has been destroyed.
  ~SlotPool();

  /// Files that the scripts of all slots read.
  const ReferenceFiles& reference_files() const;
  /// Waits for a lane and a slot. Returns Cancelled when `*cancel` becomes true (then call wake())
  /// or the claim is stopped, Unavailable after shutdown(). `held` is the lane of an earlier case
  /// of the claim in this pool; it is released.
  Result<SlotLease> acquire(const LaneClaim& claim, const std::atomic<bool>* cancel = nullptr,
                            HeldLane held = {});
  /// Makes waiting threads check their cancel tokens.
  void wake();
  /// Ends all waiting, now and later. Existing leases stay valid.
  void shutdown();

  /// Number of cases that can run at a time now.
  size_t size() const;
  size_t workers() const;
  /// How many of these are for remote workers.
  size_t remote_slots() const;
  /// Number of cases that a slot holds for one thread.
  size_t places_per_slot() const;
  /// Where plans run that no remote worker takes.
  const WorkerPlaces& places() const;
  /// Number of waiting calls of acquire(), here and for lanes of its gate in total.
  size_t waiting() const;
  size_t waiting_at_gate() const;
  /// Returns how busy the lanes of its gate are.
  LaneUsage usage(const LaneClaim& claim) const;
  std::vector<SlotStatistics> statistics() const;
  /// Returns one entry for each worker.
  std::vector<WorkerActivity> activity() const;

 private:
  friend class SlotLease;
  struct State;
  explicit SlotPool(std::unique_ptr<State> state);
  void count_remotes() const;
  size_t take_free(const LaneClaim& claim);
  void give_back(size_t index);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
