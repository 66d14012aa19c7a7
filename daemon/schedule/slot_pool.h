// Slots, and who gets one next. A slot executes one case at a time: shared memory, a seat at a
// worker and a reference process. Sessions that wait are served in turn, one slot each, however
// many tasks each has.
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
  /// Bounds the cases of all pools that share it; null: only the slots bound them.
  std::shared_ptr<LaneGate> gate = {};
  std::string project;  ///< Whose cases run here, for the gate.
};

struct SlotStatistics {
  bool busy = false;
  /// As of the end of the last lease; -1 when the process did not run.
  int worker_pid = -1, reference_pid = -1;
  uint64_t worker_restarts = 0;
  uint64_t leases = 0;
};

class SlotPool;

/// The slot is its holder's alone until the lease goes. Must not outlive the pool.
class SlotLease {
 public:
  SlotLease(SlotLease&& other) noexcept;
  SlotLease& operator=(SlotLease&& other) noexcept;
  ~SlotLease();

  Slot& operator*() const;
  Slot* operator->() const { return &**this; }
  /// Its place among the pool's slots.
  size_t index() const { return index_; }

 private:
  friend class SlotPool;
  SlotLease(SlotPool& pool, size_t index) : pool_(&pool), index_(index) {}
  SlotPool* pool_;  ///< Null after a move.
  size_t index_;
  /// When the gate let it in; nothing before.
  std::optional<std::chrono::steady_clock::time_point> entered_ = {};
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
  /// Waits for a slot, then for the gate. Cancelled when `*cancel` becomes true (then call wake()),
  /// Unavailable after shutdown().
  Result<SlotLease> acquire(const std::string& session, const std::atomic<bool>* cancel = nullptr);
  /// Lets those who wait look at their cancel tokens.
  void wake();
  /// Ends all waiting, now and later. Leases that are out stay valid.
  void shutdown();

  size_t size() const;
  size_t workers() const;
  /// How many calls of acquire() wait now.
  size_t waiting() const;
  std::vector<SlotStatistics> statistics() const;

 private:
  friend class SlotLease;
  struct State;
  explicit SlotPool(std::unique_ptr<State> state);
  void give_back(size_t index);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
