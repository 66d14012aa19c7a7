// A bounded queue with many producers and one consumer that takes all items at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuemu {

/// Thread-safe. Holds at most `items_max` items and, unless it is empty, `bytes_max` bytes.
template <typename T>
class BatchQueue {
 public:
  BatchQueue(size_t items_max, size_t bytes_max) : items_max_(items_max), bytes_max_(bytes_max) {}

  /// Waits for room. `bytes` is the memory that the item refers to beyond itself. REQUIRES: not
  /// closed.
  void push(T item, size_t bytes) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return holds(bytes); });
    add(std::move(item), bytes);
  }

  /// Like push(), but does not wait: returns false and leaves the item untouched when the queue is
  /// full.
  bool try_push(T& item, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!holds(bytes)) return false;
    add(std::move(item), bytes);
    return true;
  }

  /// Takes all items in the order of their push: waits for the first, then for at most `linger` for
  /// more. Returns an empty vector once the queue is closed and drained.
  std::vector<T> take_all(std::chrono::milliseconds linger = {}) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    filled_.wait_for(lock, linger, [&] { return closed_ || is_half_full(); });
    bytes_ = 0;
    room_.notify_all();
    // The next batch will be about as large.
    std::vector<T> next;
    next.reserve(items_.size());
    return std::exchange(items_, std::move(next));
  }

  /// Declares that no more items will come.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }

 private:
  /// REQUIRES: mutex_ is held.
  void add(T item, size_t bytes) {
    items_.push_back(std::move(item));
    bytes_ += bytes;
    // Between the first item and half of the limits, the consumer has no reason to wake.
    if (items_.size() == 1 || is_half_full()) filled_.notify_one();
  }
  bool holds(size_t bytes) const {
    return items_.empty() || (items_.size() < items_max_ && bytes_ + bytes <= bytes_max_);
  }
  bool is_half_full() const { return 2 * items_.size() >= items_max_ || 2 * bytes_ >= bytes_max_; }

  const size_t items_max_, bytes_max_;
  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::vector<T> items_;  // All below are guarded by mutex_.
  size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace gpuemu
