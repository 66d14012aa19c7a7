// One mutex over who is busy and who waits; the slots themselves belong to their lease holders.
#include "daemon/schedule/slot_pool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "daemon/schedule/ticket_queue.h"

namespace gpuemu {

struct SlotPool::State {
  // Fixed after create(); read without the mutex.
  std::vector<std::unique_ptr<Arena>> arenas;  ///< One for each slot, in their order.
  std::vector<std::unique_ptr<Slot>> slots;
  size_t workers = 0;
  std::shared_ptr<ReferenceFiles> files = std::make_shared<ReferenceFiles>();
  std::shared_ptr<LaneGate> gate;
  std::string project;
  std::atomic<bool> ended{false};

  mutable std::mutex mutex;  ///< Guards everything below.
  std::condition_variable changed;
  std::vector<SlotStatistics> statistics;
  std::vector<size_t> free;
  TicketQueue queue;

  Status add_worker(size_t number, const SlotPoolOptions& options,
                    const ReferenceOptions& reference);
  Error why_ended() const {
    if (ended) return error(ErrorCode::Unavailable, "the daemon is shutting down");
    return error(ErrorCode::Cancelled, "cancelled while waiting for a slot");
  }
};

/// With the slots that have a seat at it.
Status SlotPool::State::add_worker(size_t number, const SlotPoolOptions& options,
                                   const ReferenceOptions& reference) {
  std::vector<const Arena*> shared;
  const size_t first = arenas.size();
  for (uint32_t i = 0; i < options.slots_per_worker; ++i) {
    arenas.push_back(std::make_unique<Arena>(GPUEMU_TRY(Arena::create())));
    shared.push_back(arenas.back().get());
  }
  WorkerOptions own = options.worker;
  own.device_index = static_cast<int>(number % std::max(1U, options.devices));
  const auto worker = std::make_shared<SharedWorker>(std::move(own), std::move(shared));
  for (uint32_t i = 0; i < options.slots_per_worker; ++i) {
    slots.push_back(std::make_unique<Slot>(*arenas[first + i], WorkerSeat(worker, i), reference));
  }
  return ok_status();
}

SlotLease::SlotLease(SlotLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_), entered_(other.entered_) {}

SlotLease& SlotLease::operator=(SlotLease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(index_, other.index_);
  std::swap(entered_, other.entered_);
  return *this;
}

SlotLease::~SlotLease() {
  if (pool_ == nullptr) return;
  SlotPool::State& state = *pool_->state_;
  if (entered_ && state.gate != nullptr) {
    const auto used = std::chrono::steady_clock::now() - *entered_;
    state.gate->leave(state.project, std::chrono::duration_cast<std::chrono::microseconds>(used));
  }
  pool_->give_back(index_);
}

Slot& SlotLease::operator*() const {
  GPUEMU_CHECK(pool_ != nullptr);
  return *pool_->state_->slots[index_];
}

SlotPool::SlotPool(std::unique_ptr<State> state) : state_(std::move(state)) {}

SlotPool::~SlotPool() {
  shutdown();
  GPUEMU_CHECK(state_->free.size() == state_->slots.size());
}

Result<std::unique_ptr<SlotPool>> SlotPool::create(const SlotPoolOptions& options) {
  if (options.count == 0 || options.slots_per_worker == 0) {
    return error(ErrorCode::InvalidArgument, "0 slots, expected at least 1");
  }
  auto state = std::make_unique<State>();
  ReferenceOptions reference = options.reference;
  reference.files = state->files;
  for (size_t i = 0; i < options.count; ++i) GPUEMU_TRY(state->add_worker(i, options, reference));
  // Slots of workers that differ come first: the last in the list is the first to be taken.
  for (size_t place = options.slots_per_worker; place-- > 0;) {
    for (size_t i = options.count; i-- > 0;) {
      state->free.push_back(i * options.slots_per_worker + place);
    }
  }
  state->workers = options.count;
  state->gate = options.gate;
  state->project = options.project;
  state->statistics.resize(state->slots.size());
  return std::unique_ptr<SlotPool>(new SlotPool(std::move(state)));
}

const ReferenceFiles& SlotPool::reference_files() const { return *state_->files; }

Result<SlotLease> SlotPool::acquire(const std::string& session, const std::atomic<bool>* cancel) {
  std::unique_lock lock(state_->mutex);
  const TicketQueue::Ticket ticket = state_->queue.enter(session);
  const auto cancelled = [&] { return cancel != nullptr && cancel->load(); };
  state_->changed.wait(lock, [&] {
    return state_->ended || cancelled() ||
           (!state_->free.empty() && state_->queue.next() == ticket);
  });
  if (state_->ended || cancelled()) {
    state_->queue.leave(session, ticket);
    state_->changed.notify_all();
    return state_->why_ended();
  }
  state_->queue.serve();
  const size_t index = state_->free.back();
  state_->free.pop_back();
  state_->statistics[index].busy = true;
  ++state_->statistics[index].leases;
  // The next in turn may find a slot free, too.
  state_->changed.notify_all();
  lock.unlock();
  SlotLease lease(*this, index);
  if (state_->gate != nullptr) {
    const auto ended = [&] { return state_->ended || cancelled(); };
    if (!state_->gate->enter(state_->project, ended)) return state_->why_ended();
    lease.entered_ = std::chrono::steady_clock::now();
  }
  // Its last holder's reference may have made the memory larger.
  GPUEMU_TRY(lease->arena.refresh());
  return lease;
}

void SlotPool::give_back(size_t index) {
  const Slot& slot = *state_->slots[index];
  const std::lock_guard lock(state_->mutex);
  SlotStatistics& seen = state_->statistics[index];
  seen.busy = false;
  seen.worker_pid = slot.worker.pid();
  seen.reference_pid = slot.reference.pid();
  seen.worker_restarts = slot.worker.restarts();
  state_->free.push_back(index);
  state_->changed.notify_all();
}

void SlotPool::wake() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->changed.notify_all();
  }
  if (state_->gate != nullptr) state_->gate->wake();
}

void SlotPool::shutdown() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
  }
  wake();
}

size_t SlotPool::size() const { return state_->slots.size(); }

size_t SlotPool::workers() const { return state_->workers; }

size_t SlotPool::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.size();
}

std::vector<SlotStatistics> SlotPool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

}  // namespace gpuemu
