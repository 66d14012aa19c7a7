// A thread that keeps what others have finished, many at a time, so that nobody waits for the disk.
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

// Finished cases that wait for the disk, and the snapshots of those that failed.
inline constexpr size_t kUnwrittenCasesMax = 256;
inline constexpr size_t kUnwrittenBytesMax = size_t{64} << 20;
/// How long the first of them waits for others: a disk takes about as much of a processor to sync
/// one case as to sync a hundred.
inline constexpr std::chrono::milliseconds kUnwrittenLinger{20};

/// push() from any thread, the rest from the one that made it.
template <typename T>
class ResultWriter {
 public:
  /// Gets everything in the order of pushing, on the writer's own thread.
  using Write = std::function<Status(std::vector<T>)>;

  explicit ResultWriter(Write write) : write_(std::move(write)) {}
  ~ResultWriter() { queue_.close(); }  // Before thread_ waits for its own end.
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  /// Before the first push.
  Status start() {
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error& refused) {  // The standard library says so without a thread.
      return error(ErrorCode::ResourceExhausted, "the system has no thread to keep results: {}",
                   refused.what());
    }
    return ok_status();
  }

  /// Waits while too much is unkept. `bytes` is what the item holds beside itself.
  void push(T item, size_t bytes) { queue_.push(std::move(item), bytes); }

  /// push() where that does not wait. False, with the item untouched, where it would.
  bool try_push(T& item, size_t bytes) { return queue_.try_push(item, bytes); }

  /// The first error; after it nothing more is kept.
  std::optional<Error> broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

  /// Returns when everything is kept, or will never be.
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
