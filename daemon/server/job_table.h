// Long work: started by a request, watched and cancelled by others. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/protocol/replies.h"

namespace gpuemu {

/// What running work tells and is told. Members may be used by any thread.
struct JobControl {
  std::atomic<bool> cancel{false};
  std::atomic<uint64_t> done{0}, total{0}, failures{0};
};

class JobTable {
 public:
  using Work = std::function<Reply(JobControl&)>;

  JobTable() = default;
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  /// Runs `work` on a thread of its own.
  uint64_t start(Work work);
  /// Runs `work` here; a second call with the same `key` while it runs waits for the same answer.
  /// That is what a client's resend after 60 s needs.
  Reply run(const std::string& key, const Work& work);

  /// NotFound for an unknown job. Waits up to `wait` for a change of state.
  Result<JobStatusReply> status(uint64_t job_id, std::chrono::milliseconds wait);
  Status cancel(uint64_t job_id);
  /// Cancels everything and waits for it.
  void stop();
  size_t running() const;

 private:
  struct Job;
  std::shared_ptr<Job> find(uint64_t job_id) const;
  void forget_old();

  mutable std::mutex mutex_;
  bool stopping_ = false;                               // Guarded by mutex_.
  uint64_t next_id_ = 1;                                // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;       // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<Job>> by_key_;  // Guarded by mutex_.
};

}  // namespace gpuemu
