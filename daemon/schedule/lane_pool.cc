// One mutex over who is busy and who waits; the lanes themselves belong to their lease holders.
#include "daemon/schedule/lane_pool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "daemon/schedule/turn_queue.h"

namespace gpuemu {

struct LanePool::State {
  // Fixed after create(); read without the mutex.
  std::vector<std::unique_ptr<Arena>> arenas;  ///< Of the lanes, in their order.
  std::vector<std::unique_ptr<Lane>> lanes;
  size_t workers = 0;
  std::shared_ptr<ReferenceFiles> files = std::make_shared<ReferenceFiles>();

  mutable std::mutex mutex;  ///< Guards everything below.
  std::condition_variable changed;
  std::vector<LaneStatistics> statistics;
  std::vector<size_t> free;
  TurnQueue queue;
  bool ended = false;

  Status add_worker(size_t number, const LanePoolOptions& options,
                    const ReferenceOptions& reference);
};

/// With the lanes that have a seat at it.
Status LanePool::State::add_worker(size_t number, const LanePoolOptions& options,
                                   const ReferenceOptions& reference) {
  std::vector<const Arena*> shared;
  const size_t first = arenas.size();
  for (uint32_t i = 0; i < options.lanes_per_worker; ++i) {
    arenas.push_back(std::make_unique<Arena>(GPUEMU_TRY(Arena::create())));
    shared.push_back(arenas.back().get());
  }
  WorkerOptions own = options.worker;
  own.device_index = static_cast<int>(number % std::max(1U, options.devices));
  const auto worker = std::make_shared<SharedWorker>(std::move(own), std::move(shared));
  for (uint32_t i = 0; i < options.lanes_per_worker; ++i)
    lanes.push_back(std::make_unique<Lane>(*arenas[first + i], WorkerSeat(worker, i), reference));
  return ok_status();
}

LaneLease::LaneLease(LaneLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}

LaneLease& LaneLease::operator=(LaneLease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(index_, other.index_);
  return *this;
}

LaneLease::~LaneLease() {
  if (pool_ != nullptr) pool_->give_back(index_);
}

Lane& LaneLease::operator*() const {
  GPUEMU_CHECK(pool_ != nullptr);
  return *pool_->state_->lanes[index_];
}

LanePool::LanePool(std::unique_ptr<State> state) : state_(std::move(state)) {}

LanePool::~LanePool() {
  shutdown();
  GPUEMU_CHECK(state_->free.size() == state_->lanes.size());
}

Result<std::unique_ptr<LanePool>> LanePool::create(const LanePoolOptions& options) {
  if (options.count == 0 || options.lanes_per_worker == 0)
    return error(ErrorCode::InvalidArgument, "0 lanes, expected at least 1");
  auto state = std::make_unique<State>();
  ReferenceOptions reference = options.reference;
  reference.files = state->files;
  for (size_t i = 0; i < options.count; ++i) GPUEMU_TRY(state->add_worker(i, options, reference));
  // Lanes of workers that differ come first: the last in the list is the first to be taken.
  for (size_t place = options.lanes_per_worker; place-- > 0;)
    for (size_t i = options.count; i-- > 0;)
      state->free.push_back(i * options.lanes_per_worker + place);
  state->workers = options.count;
  state->statistics.resize(state->lanes.size());
  return std::unique_ptr<LanePool>(new LanePool(std::move(state)));
}

const ReferenceFiles& LanePool::reference_files() const { return *state_->files; }

Result<LaneLease> LanePool::acquire(const std::string& session, const std::atomic<bool>* cancel) {
  std::unique_lock lock(state_->mutex);
  const TurnQueue::Ticket ticket = state_->queue.enter(session);
  const auto cancelled = [&] { return cancel != nullptr && cancel->load(); };
  state_->changed.wait(lock, [&] {
    return state_->ended || cancelled() ||
           (!state_->free.empty() && state_->queue.next() == ticket);
  });
  if (state_->ended || cancelled()) {
    state_->queue.leave(session, ticket);
    state_->changed.notify_all();
    if (state_->ended) return error(ErrorCode::Unavailable, "the daemon is shutting down");
    return error(ErrorCode::Cancelled, "cancelled while waiting for a lane");
  }
  state_->queue.serve();
  const size_t index = state_->free.back();
  state_->free.pop_back();
  state_->statistics[index].busy = true;
  ++state_->statistics[index].leases;
  // The next in turn may find a lane free, too.
  state_->changed.notify_all();
  lock.unlock();
  LaneLease lease(*this, index);
  // Its last holder's reference may have made the memory larger.
  GPUEMU_TRY(lease->arena.refresh());
  return lease;
}

void LanePool::give_back(size_t index) {
  const Lane& lane = *state_->lanes[index];
  const std::lock_guard lock(state_->mutex);
  LaneStatistics& seen = state_->statistics[index];
  seen.busy = false;
  seen.worker_pid = lane.worker.pid();
  seen.reference_pid = lane.reference.pid();
  seen.worker_restarts = lane.worker.restarts();
  state_->free.push_back(index);
  state_->changed.notify_all();
}

void LanePool::wake() {
  const std::lock_guard lock(state_->mutex);
  state_->changed.notify_all();
}

void LanePool::shutdown() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

size_t LanePool::size() const { return state_->lanes.size(); }

size_t LanePool::workers() const { return state_->workers; }

size_t LanePool::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.size();
}

std::vector<LaneStatistics> LanePool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

}  // namespace gpuemu
