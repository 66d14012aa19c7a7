#include "daemon/schedule/lane_gate.h"

#include <algorithm>
#include <utility>

namespace gpuemu {

FairQueue::Time LaneGate::now() const {
  return std::chrono::duration_cast<FairQueue::Time>(std::chrono::steady_clock::now() - start_);
}

uint64_t LaneGate::add_pool(size_t slots) {
  const std::lock_guard lock(mutex_);
  pools_[++last_pool_].slots = slots;
  return last_pool_;
}

void LaneGate::set_extra(uint64_t pool, size_t slots) {
  const std::lock_guard lock(mutex_);
  pools_.at(pool).extra = slots;
  serve_waiting();
}

void LaneGate::remove_pool(uint64_t pool) {
  const std::lock_guard lock(mutex_);
  pools_.erase(pool);
}

/// REQUIRES: mutex_ is held.
bool LaneGate::has_free_lane() const {
  size_t extra = 0;
  for (const auto& [number, pool] : pools_) extra = std::max(extra, pool.extra);
  return running_.size() < lanes_ + extra;
}

/// REQUIRES: mutex_ is held.
void LaneGate::serve_waiting(std::optional<Ticket> keeps) {
  const auto has_room = [&](uint64_t pool) { return pools_.at(pool).has_room(); };
  if (keeps && !queue_.may_keep_lane(*keeps, now(), has_room)) keeps.reset();
  while (has_free_lane()) {
    const auto ticket = keeps ? std::exchange(keeps, std::nullopt) : queue_.next(now(), has_room);
    if (!ticket) return;
    const auto found = waiters_.find(*ticket);
    const uint64_t pool = queue_.group_of(*ticket);
    queue_.serve(*ticket, now(), has_room);
    ++pools_.at(pool).running;
    running_[*ticket] = pool;
    found->second->served = true;
    found->second->changed.notify_one();
    waiters_.erase(found);
  }
}

std::optional<LaneGate::Ticket> LaneGate::enter(uint64_t pool, const LaneClaim& claim,
                                                const std::function<bool()>& ended,
                                                const std::optional<Held>& before) {
  FairQueue::Place place{.group = pool};
  if (claim != nullptr) {
    place.session = claim->session().number();
    place.weight = claim->session().weight;
    place.job = claim->number();
    place.urgency = claim->urgency();
  }
  Waiter waiter;
  std::unique_lock lock(mutex_);
  const Ticket ticket = queue_.enter(place, now(), before.has_value());
  if (before) end(before->ticket, before->used);
  waiters_[ticket] = &waiter;
  ++pools_.at(pool).waiting;
  serve_waiting(before ? std::optional(ticket) : std::nullopt);
  waiter.changed.wait(lock, [&] { return waiter.served || ended(); });
  --pools_.at(pool).waiting;
  if (waiter.served) return ticket;
  waiters_.erase(ticket);
  queue_.leave(ticket, now());
  return std::nullopt;
}

/// REQUIRES: mutex_ is held.
void LaneGate::end(Ticket ticket, std::chrono::microseconds used) {
  const auto found = running_.find(ticket);
  --pools_.at(found->second).running;
  running_.erase(found);
  queue_.end(ticket, used, now());
}

void LaneGate::leave(Ticket ticket, std::chrono::microseconds used) {
  const std::lock_guard lock(mutex_);
  end(ticket, used);
  serve_waiting();
}

void LaneGate::wake() {
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, waiter] : waiters_) waiter->changed.notify_all();
}

size_t LaneGate::waiting(uint64_t pool) const {
  const std::lock_guard lock(mutex_);
  return pools_.at(pool).waiting;
}

size_t LaneGate::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.waiting();
}

LaneUsage LaneGate::usage(const LaneClaim& claim) const {
  const uint64_t session = claim == nullptr ? 0 : claim->session().number();
  const std::lock_guard lock(mutex_);
  return {.others_wait = queue_.others_wait(session), .own = queue_.running_of(session)};
}

}  // namespace gpuemu
