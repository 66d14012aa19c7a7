#include "daemon/schedule/lane_claim.h"

#include <algorithm>

namespace gpuemu {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr uint64_t kMebibyte = uint64_t{1} << 20;
// How often a thread that waits for memory checks if it should stop.
constexpr std::chrono::milliseconds kEndedLook{100};

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

std::optional<std::string> LaneSession::time_used_up() const {
  const int64_t limit = limit_us;
  if (limit == 0 || used_us < limit) return day == nullptr ? std::nullopt : day->used_up();
  return fmt::format("session {}: {:g} s of device time is used up (time_limit_s)", name_,
                     static_cast<double>(limit) / kMicrosecondsPerSecond);
}

void LaneSession::set_memory_limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_limit_ = bytes;
  memory_changed_.notify_all();
}

void LaneSession::add_used(std::chrono::microseconds used) {
  used_us += used.count();
  if (day != nullptr) day->add(used.count());
}

uint64_t LaneSession::memory_limit() const {
  const std::lock_guard lock(mutex_);
  return memory_limit_;
}

uint64_t LaneSession::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

std::optional<std::string> LaneSession::take_memory(uint64_t bytes,
                                                    const std::function<bool()>& ended) {
  std::unique_lock lock(mutex_);
  const auto fits = [&] { return memory_limit_ == 0 || memory_ + bytes <= memory_limit_; };
  const auto never = [&] { return memory_limit_ != 0 && bytes > memory_limit_; };
  while (!fits() && !never() && !ended()) memory_changed_.wait_for(lock, kEndedLook);
  if (never()) {
    const uint64_t free = memory_limit_ - std::min(memory_, memory_limit_);
    return fmt::format("session {}: needs {} MiB, {} of {} MiB are free (memory_limit_mb)", name_,
                       (bytes + kMebibyte - 1) / kMebibyte, free / kMebibyte,
                       memory_limit_ / kMebibyte);
  }
  memory_ += bytes;
  return std::nullopt;
}

void LaneSession::release_memory(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_ -= bytes;
  memory_changed_.notify_all();
}

Result<MemoryHold> MemoryHold::take(const LaneClaim& claim, uint64_t bytes) {
  if (claim == nullptr) return MemoryHold(nullptr, 0);
  auto refused = claim->session().take_memory(bytes, [&] { return claim->is_stopped(); });
  if (refused) {
    claim->stop({LaneStop::Why::LimitReached, *refused});
    return error(ErrorCode::Cancelled, "{}", *refused);
  }
  return MemoryHold(claim, bytes);  // A stopped claim gets no lane.
}

MemoryHold::~MemoryHold() {
  if (claim_ != nullptr) claim_->session().release_memory(bytes_);
}

LaneUse::LaneUse(std::shared_ptr<LaneSession> session, Urgency urgency)
    : session_(std::move(session)), number_(next_number()), urgency_(urgency) {
  ++session_->unfinished;
}

LaneUse::~LaneUse() { finish(); }

void LaneUse::finish() {
  if (!finished_.exchange(true)) --session_->unfinished;
}

void LaneUse::stop(LaneStop why) {
  std::function<void(const LaneStop&)> told;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    stop_ = why;
    is_stopped_ = true;
    told = std::move(told_);
    // Wakers are not destroyed while the lock is held.
    for (Waker* waker : waiting_at_) waker->wake();
  }
  if (told) told(why);
}

std::optional<LaneStop> LaneUse::stopped() {
  if (auto used_up = session_->time_used_up()) {
    stop({LaneStop::Why::LimitReached, *std::move(used_up)});
  }
  const std::lock_guard lock(mutex_);
  return stop_;
}

void LaneUse::on_stop(std::function<void(const LaneStop&)> told) {
  std::optional<LaneStop> already;
  {
    const std::lock_guard lock(mutex_);
    already = stop_;
    if (!already) std::swap(told_, told);
  }
  if (already && told) told(*already);
}

LaneUse::Wait::Wait(LaneUse& use, Waker& where) : use_(use), where_(where) {
  ++use_.waits_;
  const std::lock_guard lock(use_.mutex_);
  use_.waiting_at_.push_back(&where_);
}

LaneUse::Wait::~Wait() {
  --use_.waits_;
  const std::lock_guard lock(use_.mutex_);
  use_.waiting_at_.erase(std::ranges::find(use_.waiting_at_, &where_));
}

void LaneUse::release(std::chrono::microseconds used) {
  session_->add_used(used);
  --holds_;
}

}  // namespace gpuemu
