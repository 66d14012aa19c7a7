// A thread that stores finished cases in batches, so that no other thread waits for the disk.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "daemon/campaign/batch_queue.h"

namespace gpuemu {

// Limits for finished cases that wait for the disk, and for the snapshots of those that failed. As
// many again may be being written.
inline constexpr size_t kUnwrittenCasesMax = 1024;
inline constexpr size_t kUnwrittenBytesMax = size_t{64} << 20;
/// How long the first of them waits for others: syncing one case to disk takes about as much
/// processor time as syncing a hundred.
inline constexpr std::chrono::milliseconds kUnwrittenLinger{50};

/// push() may be called from any thread, the rest only from the thread that made the writer.
template <typename T>
class ResultWriter {
 public:
  /// Gets all items in the order of their push, on the writer's own thread.
  using Write = std::function<Status(std::vector<T>)>;

  explicit ResultWriter(Write write) : write_(std::move(write)) {}
  ~ResultWriter() { queue_.close(); }  // Before thread_ joins.
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// REQUIRES: called before the first push.
  Status start() {
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error& refused) {  // Thrown when no thread can be started.
      return error(ErrorCode::ResourceExhausted, "the system has no thread to keep results: {}",
                   refused.what());
    }
    return ok_status();
  }

  /// Waits while too much is unwritten. `bytes` is the memory that the item refers to beyond
  /// itself.
  void push(T item, size_t bytes) { queue_.push(std::move(item), bytes); }

  /// Like push(), but does not wait: returns false and leaves the item untouched where push()
  /// would.
  bool try_push(T& item, size_t bytes) { return queue_.try_push(item, bytes); }

  /// Returns the first error; after it nothing more is stored.
  std::optional<Error> broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

  /// Returns when everything is stored, or never will be.
  Status finish() {
    queue_.close();
    if (thread_.joinable()) thread_.join();
    if (const auto why = broken()) return *why;
    return ok_status();
  }

 private:
  void run() {
    for (auto batch = queue_.take_all(kUnwrittenLinger); !batch.empty();
         batch = queue_.take_all(kUnwrittenLinger)) {
      if (broken()) continue;
      const Status kept = write_(std::move(batch));
      if (kept) continue;
      const std::lock_guard lock(mutex_);
      broken_ = kept.error();
    }
  }

  const Write write_;
  BatchQueue<T> queue_{kUnwrittenCasesMax, kUnwrittenBytesMax};
  mutable std::mutex mutex_;
  std::optional<Error> broken_;  // Guarded by mutex_.
  std::jthread thread_;
};

}  // namespace gpuemu
