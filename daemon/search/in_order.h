// Numbered work that many threads do at once and whose outcomes are taken one by one, in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace gpuemu {

/// Thread-safe. Places are taken in the order in which they begin: 0, 1, 2, ...
template <typename T>
class InOrder {
 public:
  /// Called by one thread at a time; false: nothing more is to be taken or to begin.
  using Take = std::function<bool(uint64_t place, T outcome)>;
  /// How many places must have been taken before this one may begin; never more than itself.
  using Needs = std::function<uint64_t(uint64_t place)>;

  /// Where outcomes that wait for an earlier one hold more than `bytes_max`, nothing begins.
  InOrder(uint64_t count, size_t bytes_max, Needs needs, Take take)
      : bytes_max_(bytes_max), needs_(std::move(needs)), take_(std::move(take)), end_(count) {}

  /// The next place, when it may begin; nothing when there is none or `cancel` is set.
  std::optional<uint64_t> begin(const std::atomic<bool>& cancel) {
    std::unique_lock lock(mutex_);
    while (!cancel && next_ < end_) {
      if (may_begin_next()) return next_++;
      changed_.wait_for(lock, kCancelLook);
    }
    return std::nullopt;
  }

  /// The next place where it may begin now.
  std::optional<uint64_t> begin_now() {
    const std::lock_guard lock(mutex_);
    return next_ < end_ && may_begin_next() ? std::optional(next_++) : std::nullopt;
  }

  /// How many places may begin now, at most `most`. REQUIRES: a later place needs no fewer.
  uint64_t ready(uint64_t most) const {
    const std::lock_guard lock(mutex_);
    if (next_ >= end_ || held_bytes_ > bytes_max_) return 0;
    uint64_t from = next_, until = next_ + std::min(most, end_ - next_);
    while (from < until) {
      const uint64_t middle = from + (until - from) / 2;
      if (taken_ >= needs_(middle)) {
        from = middle + 1;
      } else {
        until = middle;
      }
    }
    return from - next_;
  }

  /// The outcome of a place that has begun; `bytes` is what it holds beside itself.
  void end(uint64_t place, T outcome, size_t bytes) {
    std::unique_lock lock(mutex_);
    held_.emplace(place, Held{std::move(outcome), bytes});
    held_bytes_ += bytes;
    if (taking_) return;
    taking_ = true;
    while (!over_ && !held_.empty() && held_.begin()->first == taken_) take_first(lock);
    taking_ = false;
  }

  /// No place from this one on begins.
  void stop_before(uint64_t place) {
    const std::lock_guard lock(mutex_);
    end_ = std::min(end_, place);
    changed_.notify_all();
  }

 private:
  struct Held {
    T outcome;
    size_t bytes = 0;
  };
  // Between two looks at `cancel` while there is nothing to do.
  static constexpr std::chrono::milliseconds kCancelLook{20};

  void take_first(std::unique_lock<std::mutex>& lock) {
    auto first = held_.extract(held_.begin());
    held_bytes_ -= first.mapped().bytes;
    lock.unlock();
    const bool goes_on = take_(first.key(), std::move(first.mapped().outcome));
    lock.lock();
    ++taken_;
    if (!goes_on) {
      over_ = true;
      end_ = 0;
    }
    // Whoever waits for a later one sleeps on: waking all lanes for every outcome costs more than a
    // small case.
    if (next_ >= end_ || may_begin_next()) changed_.notify_all();
  }

  /// REQUIRES: mutex_ is held.
  bool may_begin_next() const { return taken_ >= needs_(next_) && held_bytes_ <= bytes_max_; }

  const size_t bytes_max_;
  const Needs needs_;
  const Take take_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  uint64_t next_ = 0, end_, taken_ = 0;
  std::map<uint64_t, Held> held_;
  size_t held_bytes_ = 0;
  bool taking_ = false, over_ = false;
};

}  // namespace gpuemu
