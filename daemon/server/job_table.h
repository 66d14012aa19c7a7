// Long work: started by a request, watched and cancelled by others. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

/// Who ended a job before its work was done.
enum class JobStop { None, Cancelled, Abandoned, DaemonStops, SessionEnded, LimitReached };

/// What running work tells and is told. Members may be used by any thread.
class JobControl {
 public:
  std::atomic<bool> cancel{false};  ///< Set by stop().
  std::atomic<uint64_t> done{0}, total{0}, failures{0};
  uint64_t job = 0;  ///< Later work has a larger number; that of the job where it runs as one.

  /// Asks the work to end. The first reason counts; `limit` says which limit was reached.
  void stop(JobStop why, const std::string& limit = "");
  /// "the run was cancelled after 3 of 50 steps" or "the daemon was stopped; 3 of 50 cases had
  /// run";
  /// "" when nobody asked the work to end.
  std::string incomplete() const;
  /// Whether the work was asked to end because the daemon ends.
  bool is_stopped() const { return stop_ == JobStop::DaemonStops; }
  bool is_limited() const { return stop_ == JobStop::LimitReached; }
  /// Counts a failure and adds a line about it to the job's log, which keeps the first ones.
  void failed(std::string line);
  /// Counts a failing case, adds a line and an event.
  void failed(std::string line, const ValidationResult& result);
  void op_started(const std::string& op_name, DType dtype);
  /// Counts alone; cases are left out.
  void op_finished(const OpTestReport& report);
  /// Adds a warning to the job's log.
  void warn(const std::string& text);
  /// Adds how many kernels are compiled, for whoever asks for the log while it lasts; not in the
  /// first moment, as kernels that are in the cache take no time.
  void compiling(size_t ready, size_t wanted);
  /// The job's log from line number `from` on.
  std::vector<JobLine> lines(uint64_t from);
  /// Events from number `from` on; those before it are forgotten. While too many wait to be
  /// fetched, failed cases are counted only.
  std::vector<JobEvent> events(uint64_t from);
  /// Nobody will ask for events.
  void forget_events();

 private:
  // REQUIRE: mutex_ is held.
  void add_event(JobEvent event);
  void add_line(JobLine line);

  std::atomic<JobStop> stop_{JobStop::None};
  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  std::vector<JobLine> log_;
  std::deque<JobEvent> events_;
  uint64_t events_gone_ = 0;  ///< Before the first of events_.
  bool events_wanted_ = true;
  std::string limit_;
  std::optional<JobLine> compiling_;  ///< A line that no client has asked for yet.
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

/// The session, the project and the request that a job comes from.
struct JobOrigin {
  LaneClaim claim = {};      ///< Ends the work when it is stopped; null: nobody's.
  std::string space = {};    ///< Owner of the records it adds, as in stored_project.h.
  std::string request = {};  ///< Its type.
};

class JobTable {
 public:
  using Work = std::function<Reply(JobControl&)>;

  JobTable();
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  /// Runs `work` on a thread of its own. ResourceExhausted when too many run already or the system
  /// has no thread for it, Unavailable after stop(). With a lease the job is cancelled when no
  /// status() follows in that time; InvalidArgument when it is too long.
  Result<uint64_t> start(Work work, std::optional<uint64_t> lease_ms = std::nullopt,
                         JobOrigin origin = {});
  /// Runs `work` here; a second call with the same `key` while it runs waits for the same answer.
  /// That is what a client's resend after 60 s needs.
  Reply run(const std::string& key, const Work& work, const LaneClaim& claim = nullptr);
  /// All that status() knows, in the order of their start.
  std::vector<JobInfo> list() const;
  /// Whether the user, "" for the daemon's, may ask for the job: it is that user's, or unknown.
  bool is_for(const std::string& user, uint64_t job_id) const;

  /// NotFound for an unknown job, InvalidArgument for a lease that is too long. Waits up to
  /// wait_ms, bounded, for its end. A job with a lease is cancelled when no other question follows
  /// in that time: whoever waited for it is gone.
  Result<JobStatusReply> status(const JobStatusRequest& request);
  /// Asks the job to end; one that has ended stays as it is.
  Status cancel(uint64_t job_id);
  /// Cancels everything, waits for it, and for whoever is asking for a job to get its result.
  void stop();
  size_t running() const;
  /// When the oldest of the running jobs began, in microseconds since 1970; the largest number
  /// when none runs.
  uint64_t oldest_start() const;

 private:
  struct Job;
  std::shared_ptr<Job> find(uint64_t job_id) const;
  size_t running_jobs() const;  ///< REQUIRES: mutex_ is held.
  void forget_old();
  // REQUIRE: mutex_ is held.
  Status set_lease(Job& job, std::optional<uint64_t> lease_ms);
  void renew_lease(Job& job, uint64_t wait_ms);
  void watch_leases();
  void wait_until_told();

  mutable std::mutex mutex_;
  bool stopping_ = false;                               // Guarded by mutex_.
  uint64_t next_id_;                                    // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;       // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<Job>> by_key_;  // Guarded by mutex_.
  std::condition_variable leases_changed_;              // With mutex_: a lease, or stopping_.
  std::thread lease_watch_;                             // From the first lease on; with mutex_.
};

}  // namespace gpuemu
