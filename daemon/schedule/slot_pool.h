// Slots. A slot executes one case at a time: shared memory, a seat at a worker and a reference
// process. Whoever waits gets one when its gate says so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "daemon/reference/reference_process.h"
#include "daemon/schedule/lane_gate.h"
#include "daemon/worker/worker_seat.h"

namespace gpuemu {

/// Processes start when they are first used. The memory must outlive it.
struct Slot {
  Slot(Arena& memory, WorkerSeat seat, const ReferenceOptions& reference_options)
      : arena(memory), worker(std::move(seat)), reference(reference_options, arena) {}

  Arena& arena;
  WorkerSeat worker;
  ReferenceProcess reference;
};

struct SlotPoolOptions {
  uint32_t count = 1;    ///< Workers: one process each.
  uint32_t devices = 1;  ///< The workers take them in turn.
  /// Slots that share a worker. On a GPU several slots with one worker are three times as fast as
  /// one, several workers slower: processes take turns at it.
  uint32_t slots_per_worker = 1;
  WorkerOptions worker;
  ReferenceOptions reference;
  WorkerPlaces places = {};
  /// Slots beyond those, for cases that remote workers run: so many for each of them that is
  /// connected, and in all. They wait at the workers here where none is idle.
  uint32_t slots_per_remote = 0, remote_slots_max = 0;
  /// Bounds the cases of all pools that share it, and says whose case is next; null: one of its
  /// own, with as many lanes as there are slots.
  std::shared_ptr<LaneGate> gate = {};
};

struct SlotStatistics {
  bool busy = false;
  /// As of the end of the last lease; -1 when the process did not run.
  int worker_pid = -1, reference_pid = -1;
  uint64_t worker_restarts = 0;
  uint64_t leases = 0;
};

/// What a worker does.
struct WorkerActivity {
  double busy = 0;                     ///< Share of the last second in which a case ran.
  std::optional<std::string> session;  ///< Whose case runs; nothing when none does.
  uint64_t memory_bytes = 0;           ///< Device memory of the cases that run.
};

class SlotPool;

/// The lane of a case that has ended, for the next one of whoever holds it, whose session is
/// charged for it until it is given back. Must not outlive the pool, and what may wait for
/// something else gives it up first.
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

 private:
  friend class SlotPool;
  friend class SlotLease;
  using Clock = std::chrono::steady_clock;
  HeldLane(std::shared_ptr<LaneGate> gate, LaneGate::Ticket ticket, LaneClaim claim,
           Clock::time_point since)
      : gate_(std::move(gate)), ticket_(ticket), claim_(std::move(claim)), since_(since) {}
  std::optional<LaneGate::Held> end();

  std::shared_ptr<LaneGate> gate_;  ///< Null: it holds none.
  LaneGate::Ticket ticket_ = 0;
  LaneClaim claim_;
  Clock::time_point since_;  ///< When its case took it.
};

/// The slot is its holder's alone until the lease goes. Must not outlive the pool.
class SlotLease {
 public:
  SlotLease(SlotLease&& other) noexcept;
  SlotLease& operator=(SlotLease&& other) noexcept;
  ~SlotLease();

  Slot& operator*() const;
  Slot* operator->() const { return &**this; }
  /// Tells activity() how much device memory its case has.
  void count_memory(uint64_t bytes);
  /// Gives the slot back and keeps the lane.
  HeldLane end_case();
  /// Its place among the pool's slots.
  size_t index() const { return index_; }

 private:
  friend class SlotPool;
  SlotLease(SlotPool& pool, size_t index, LaneGate::Ticket ticket, LaneClaim claim)
      : pool_(&pool), index_(index), ticket_(ticket), claim_(std::move(claim)) {
    inside_before_ = (*this)->worker.plans_inside();
  }

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
  /// InvalidArgument for no slot, or the error of the shared memory.
  static Result<std::unique_ptr<SlotPool>> create(const SlotPoolOptions& options);
  /// REQUIRES: every lease has been given back.
  ~SlotPool();

  /// What the scripts of all slots read.
  const ReferenceFiles& reference_files() const;
  /// Waits for a lane and a slot. Cancelled when `*cancel` becomes true (then call wake()) or the
  /// claim is stopped, Unavailable after shutdown(). `held` is that of an earlier case of the claim
  /// in this pool, which it gives up.
  Result<SlotLease> acquire(const LaneClaim& claim, const std::atomic<bool>* cancel = nullptr,
                            HeldLane held = {});
  /// Lets those who wait look at their cancel tokens.
  void wake();
  /// Ends all waiting, now and later. Leases that are out stay valid.
  void shutdown();

  /// How many cases can run at a time now.
  size_t size() const;
  size_t workers() const;
  /// How many of them because of remote workers.
  size_t remote_slots() const;
  /// Where the plans run that no remote worker takes.
  const WorkerPlaces& places() const;
  /// How many calls of acquire() wait now, here and for lanes of its gate at all.
  size_t waiting() const;
  size_t waiting_at_gate() const;
  std::vector<SlotStatistics> statistics() const;
  /// One for each worker.
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
