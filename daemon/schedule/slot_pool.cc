// One mutex guards the state of the slots; the slots themselves belong to their lease holders.
#include "daemon/schedule/slot_pool.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "daemon/schedule/busy_meter.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool_options.h"

namespace gpuemu {

struct SlotPool::State {
  // Fixed after create(); read without the mutex.
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<std::unique_ptr<ReferenceProcess>> references;  ///< One for each slot.
  std::vector<std::unique_ptr<Slot>> slots;
  size_t workers = 0;
  WorkerPlaces places;
  std::shared_ptr<ReferenceFiles> files = std::make_shared<ReferenceFiles>();
  size_t slots_per_worker = 1;  ///< Including those for remote workers.
  size_t own_slots = 0;         ///< Excluding them.
  WorkerOptions worker_options;
  size_t slots_per_remote = 0, remote_slots_max = 0;
  std::atomic<size_t> remote_slots{0};
  std::shared_ptr<LaneGate> gate;
  uint64_t gate_number = 0;  ///< Its number at the gate.
  std::atomic<bool> ended{false};

  mutable std::mutex mutex;  ///< Guards everything below.
  std::vector<SlotStatistics> statistics;
  std::vector<size_t> free;
  std::vector<BusyMeter> meters;  ///< One for each worker.
  struct User {
    std::string session;
    uint64_t memory_bytes = 0;
  };
  std::vector<User> users;  ///< For each slot, the owner of the running case.

  Status add_worker(size_t number, const SlotPoolOptions& options,
                    const ReferenceOptions& reference);
  Error why_ended() const {
    if (ended) return error(ErrorCode::Unavailable, "the daemon is shutting down");
    return error(ErrorCode::Cancelled, "cancelled while waiting for a slot");
  }
};

/// Adds a worker with the slots that have a seat at it.
Status SlotPool::State::add_worker(size_t number, const SlotPoolOptions& options,
                                   const ReferenceOptions& reference) {
  std::vector<Arena*> shared;
  const uint32_t each = std::max(1U, options.places_per_slot);
  for (size_t i = 0; i < slots_per_worker * each; ++i) {
    arenas.push_back(std::make_unique<Arena>(GPUEMU_TRY(Arena::create())));
    shared.push_back(arenas.back().get());
  }
  WorkerOptions own = options.worker;
  own.device_index = static_cast<int>(number % std::max(1U, options.devices));
  const auto worker = std::make_shared<SharedWorker>(std::move(own), shared, options.places);
  for (uint32_t i = 0; i < slots_per_worker; ++i) {
    const uint32_t first = i * each;
    const std::vector<Arena*> of_slot(shared.begin() + first, shared.begin() + first + each);
    references.push_back(std::make_unique<ReferenceProcess>(reference, of_slot));
    ReferenceProcess& scripts = *references.back();
    slots.push_back(
        std::make_unique<Slot>(*of_slot[0], WorkerSeat(worker, first), ReferenceSeat(scripts, 0)));
    Slot& slot = *slots.back();
    for (uint32_t place = 1; place < each; ++place) {
      slot.beside.push_back(std::make_unique<Slot>(
          *of_slot[place], slot.worker.beside(first + place), ReferenceSeat(scripts, place)));
    }
  }
  return ok_status();
}

SlotLease::SlotLease(SlotPool& pool, size_t index, LaneGate::Ticket ticket, LaneClaim claim)
    : pool_(&pool), index_(index), ticket_(ticket), claim_(std::move(claim)) {
  inside_before_ = (*this)->worker.plans_inside();
}

SlotLease::SlotLease(SlotLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      index_(other.index_),
      ticket_(other.ticket_),
      claim_(std::move(other.claim_)),
      inside_before_(other.inside_before_),
      entered_(other.entered_) {}

SlotLease& SlotLease::operator=(SlotLease&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(index_, other.index_);
  std::swap(ticket_, other.ticket_);
  std::swap(claim_, other.claim_);
  std::swap(inside_before_, other.inside_before_);
  std::swap(entered_, other.entered_);
  return *this;
}

/// Charges the session. Returns the data to report to the gate; nothing if it holds no lane.
std::optional<LaneGate::Held> HeldLane::end() {
  if (std::exchange(gate_, nullptr) == nullptr) return std::nullopt;
  const auto used = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since_);
  if (const LaneClaim claim = std::exchange(claim_, nullptr)) claim->release(used);
  return LaneGate::Held{ticket_, used};
}

void HeldLane::release() {
  const std::shared_ptr<LaneGate> gate = gate_;
  if (const auto ended = end()) gate->leave(ended->ticket, ended->used);
}

HeldLane SlotLease::end_case() {
  (*this)->reference.stop_when(nullptr);
  const bool ran_inside = (*this)->worker.plans_inside() > inside_before_;
  pool_->give_back(index_);
  if (claim_ != nullptr && ran_inside) claim_->ran_inside = true;
  return HeldLane(std::exchange(pool_, nullptr)->state_->gate, ticket_, std::move(claim_),
                  entered_);
}

SlotLease::~SlotLease() {
  if (pool_ != nullptr) end_case();
}

Slot& SlotLease::operator*() const {
  GPUEMU_CHECK(pool_ != nullptr);
  return *pool_->state_->slots[index_];
}

void SlotLease::count_memory(uint64_t bytes) {
  const std::lock_guard lock(pool_->state_->mutex);
  pool_->state_->users[index_].memory_bytes = bytes;
}

SlotPool::SlotPool(std::unique_ptr<State> state) : state_(std::move(state)) {}

SlotPool::~SlotPool() {
  shutdown();
  GPUEMU_CHECK(state_->free.size() == state_->slots.size());
  state_->gate->remove_pool(state_->gate_number);
}

Result<std::unique_ptr<SlotPool>> SlotPool::create(const SlotPoolOptions& options) {
  if (options.count == 0 || options.slots_per_worker == 0) {
    return error(ErrorCode::InvalidArgument, "0 slots, expected at least 1");
  }
  auto state = std::make_unique<State>();
  ReferenceOptions reference = options.reference;
  reference.files = state->files;
  state->own_slots = size_t{options.count} * options.slots_per_worker;
  state->worker_options = options.worker;
  state->slots_per_remote = options.slots_per_remote;
  state->remote_slots_max = options.places.remotes == nullptr ? 0 : options.remote_slots_max;
  state->slots_per_worker =
      options.slots_per_worker + (state->remote_slots_max + options.count - 1) / options.count;
  for (size_t i = 0; i < options.count; ++i) GPUEMU_TRY(state->add_worker(i, options, reference));
  // Alternates between workers: slots are taken from the end of the list.
  for (size_t place = state->slots_per_worker; place-- > 0;) {
    for (size_t i = options.count; i-- > 0;) {
      state->free.push_back(i * state->slots_per_worker + place);
    }
  }
  state->workers = options.count;
  state->places = options.places;
  state->gate = options.gate;
  if (state->gate == nullptr) state->gate = std::make_shared<LaneGate>(state->own_slots);
  state->gate_number = state->gate->add_pool(state->own_slots);
  state->statistics.resize(state->slots.size());
  state->users.resize(state->slots.size());
  state->meters.resize(state->workers);
  return std::unique_ptr<SlotPool>(new SlotPool(std::move(state)));
}

const ReferenceFiles& SlotPool::reference_files() const { return *state_->files; }

/// Updates the number of remote workers, which come and go.
void SlotPool::count_remotes() const {
  if (state_->remote_slots_max == 0) return;
  const std::lock_guard lock(state_->mutex);
  const size_t wanted =
      std::min(state_->remote_slots_max,
               state_->slots_per_remote * state_->places.remotes->count(state_->worker_options));
  if (state_->remote_slots.exchange(wanted) == wanted) return;
  state_->gate->set_extra(state_->gate_number, wanted);
}

/// REQUIRES: the gate has admitted the case, so that a slot is free.
size_t SlotPool::take_free(const LaneClaim& claim) {
  const std::lock_guard lock(state_->mutex);
  const size_t index = state_->free.back();
  state_->free.pop_back();
  state_->statistics[index].busy = true;
  ++state_->statistics[index].leases;
  state_->users[index] = {claim == nullptr ? "" : claim->session().name()};
  state_->meters[index / state_->slots_per_worker].begin(BusyMeter::Clock::now());
  return index;
}

Result<SlotLease> SlotPool::acquire(const LaneClaim& claim, const std::atomic<bool>* cancel,
                                    HeldLane held) {
  const auto cancelled = [&] { return cancel != nullptr && cancel->load(); };
  const auto stopped = [&] { return claim == nullptr ? std::nullopt : claim->stopped(); };
  const auto ended = [&] {
    return state_->ended || cancelled() || (claim != nullptr && claim->is_stopped());
  };
  count_remotes();
  const auto before = held.end();  // Must come before the check of the session's time limit.
  std::optional<LaneGate::Ticket> ticket;
  {
    std::optional<LaneUse::Wait> wait;
    if (claim != nullptr) wait.emplace(*claim, *state_->gate);
    if (!stopped() && !ended()) {
      ticket = state_->gate->enter(state_->gate_number, claim, ended, before);
    } else if (before) {
      state_->gate->leave(before->ticket, before->used);
    }
  }
  if (ticket && stopped()) {
    state_->gate->leave(*ticket, std::chrono::microseconds(0));
    ticket.reset();
  }
  if (!ticket) {
    if (const auto why = stopped()) return error(ErrorCode::Cancelled, "{}", why->text);
    return state_->why_ended();
  }
  if (claim != nullptr) claim->hold();
  SlotLease lease(*this, take_free(claim), *ticket, claim);
  // A slow script must not hold the slot for a client that is gone.
  lease->reference.stop_when(claim == nullptr ? nullptr : &claim->stop_flag());
  // The reference of the last holder may have enlarged the memory.
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
  state_->meters[index / state_->slots_per_worker].end(BusyMeter::Clock::now());
  state_->free.push_back(index);
}

void SlotPool::wake() { state_->gate->wake(); }

void SlotPool::shutdown() {
  state_->ended = true;
  wake();
}

size_t SlotPool::size() const { return state_->own_slots + remote_slots(); }
size_t SlotPool::places_per_slot() const { return 1 + state_->slots.front()->beside.size(); }

size_t SlotPool::remote_slots() const {
  count_remotes();
  return state_->remote_slots;
}

size_t SlotPool::workers() const { return state_->workers; }
const WorkerPlaces& SlotPool::places() const { return state_->places; }

size_t SlotPool::waiting() const { return state_->gate->waiting(state_->gate_number); }
size_t SlotPool::waiting_at_gate() const { return state_->gate->waiting(); }
LaneUsage SlotPool::usage(const LaneClaim& claim) const { return state_->gate->usage(claim); }

std::vector<SlotStatistics> SlotPool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

std::vector<WorkerActivity> SlotPool::activity() const {
  std::vector<WorkerActivity> all(state_->workers);
  const std::lock_guard lock(state_->mutex);
  const auto now = BusyMeter::Clock::now();
  for (size_t i = 0; i < all.size(); ++i) all[i].busy = state_->meters[i].share(now);
  for (size_t i = 0; i < state_->slots.size(); ++i) {
    if (!state_->statistics[i].busy) continue;
    WorkerActivity& one = all[i / state_->slots_per_worker];
    one.session = state_->users[i].session;
    one.memory_bytes += state_->users[i].memory_bytes;
  }
  return all;
}

}  // namespace gpuemu
