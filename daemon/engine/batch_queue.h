// Things on their way from many threads to one that takes all there are at once.
#pragma once

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

  /// Waits for room. `bytes` is what the item holds beside itself. REQUIRES: not closed.
  void push(T item, size_t bytes) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] {
      return items_.empty() || (items_.size() < items_max_ && bytes_ + bytes <= bytes_max_);
    });
    items_.push_back(std::move(item));
    bytes_ += bytes;
    filled_.notify_one();
  }

  /// Everything, in the order of pushing; waits for the first. Empty once it is closed and drained.
  std::vector<T> take_all() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    bytes_ = 0;
    room_.notify_all();
    return std::exchange(items_, {});
  }

  /// Nothing more will come.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }

 private:
  const size_t items_max_, bytes_max_;
  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::vector<T> items_;  // All below: guarded by mutex_.
  size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace gpuemu
