// Long-running work: started by one request, watched and cancelled by others. Thread-safe.
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

#include "common/protocol/evidence.gen.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.gen.h"
#include "common/protocol/sessions.gen.h"
#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

/// Why a job was stopped before its work was done.
enum class JobStop { None, Cancelled, Abandoned, DaemonStops, SessionEnded, LimitReached };

/// Progress, log and cancellation of running work. Thread-safe.
class JobControl {
 public:
  std::atomic<bool> cancel{false};  ///< Set by stop().
  std::atomic<uint64_t> done{0}, total{0}, failures{0};
  uint64_t job = 0;  ///< The job's number, which increases from job to job; also set for work that
                     ///< does not run as a job.

  /// Asks the work to end. The first reason counts; `limit` names the limit that was reached.
  void stop(JobStop why, const std::string& limit = "");
  /// Returns for example "the run was cancelled after 3 of 50 steps" or "the daemon was stopped; 3
  /// of 50 cases had run"; "" if the work was not asked to end.
  std::string incomplete() const;
  /// Returns whether the work was stopped because the daemon ends.
  bool is_stopped() const { return stop_ == JobStop::DaemonStops; }
  bool is_limited() const { return stop_ == JobStop::LimitReached; }
  /// Counts a failure and adds a line to the job's log, which keeps the first ones.
  void failed(std::string line);
  /// Counts a failing case, and adds a line and an event.
  void failed(std::string line, const ValidationResult& result);
  void op_started(const std::string& op_name, DType dtype);
  /// Reports counts only, no cases.
  void op_finished(const OpTestReport& report);
  /// Adds a warning to the job's log.
  void warn(const std::string& text);
  /// Adds a line with the number of compiled kernels, for clients that poll the log meanwhile. Not
  /// immediately, because cached kernels take no time.
  void compiling(size_t ready, size_t wanted);
  /// Returns the job's log from line number `from` on.
  std::vector<JobLine> lines(uint64_t from);
  /// Returns the events from number `from` on, and drops earlier ones. While too many wait to be
  /// fetched, failed cases are only counted.
  std::vector<JobEvent> events(uint64_t from);
  /// Drops events from now on, because no client fetches them.
  void forget_events();

 private:
  // The functions below require mutex_ to be held.
  void add_event(JobEvent event);
  void add_line(JobLine line);

  std::atomic<JobStop> stop_{JobStop::None};
  mutable std::mutex mutex_;
  // The members below are guarded by mutex_.
  std::vector<JobLine> log_;
  std::deque<JobEvent> events_;
  uint64_t events_gone_ = 0;  ///< Number of events before the first of events_.
  bool events_wanted_ = true;
  std::string limit_;
  std::optional<JobLine> compiling_;  ///< A line not yet fetched.
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

/// The session, the project and the request of a job.
struct JobOrigin {
  LaneClaim claim = {};      ///< Ends the work when it is stopped; null: none.
  std::string space = {};    ///< Owner of the records that it adds; see stored_project.h.
  std::string request = {};  ///< Type of the request.
};

class JobTable {
 public:
  using Work = std::function<Reply(JobControl&)>;

  JobTable();
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  /// Runs `work` on a thread of its own. ResourceExhausted if too many jobs run already or the
  /// system has no thread for it; Unavailable after stop(). With a lease, the job is cancelled if
  /// no status() follows in that time; InvalidArgument if the lease is too long.
  Result<uint64_t> start(Work work, std::optional<uint64_t> lease_ms = std::nullopt,
                         JobOrigin origin = {});
  /// Runs `work` on the calling thread. A second call with the same `key` while it runs waits for
  /// the same reply, which handles a client's resend after 60 s.
  Reply run(const std::string& key, const Work& work, const LaneClaim& claim = nullptr);
  /// Returns all jobs that status() knows, in the order of their start.
  std::vector<JobInfo> list() const;
  /// Returns whether the user ("" for the daemon's) may access the job: it is that user's, or
  /// unknown.
  bool is_for(const std::string& user, uint64_t job_id) const;

  /// Returns the job's state, after waiting for its end for up to wait_ms (bounded). NotFound for
  /// an unknown job, InvalidArgument for a lease that is too long. A job with a lease is cancelled
  /// if no other poll follows in that time, because its client is gone.
  Result<JobStatusReply> status(const JobStatusRequest& request);
  /// Asks the job to end. Has no effect on a finished job.
  Status cancel(uint64_t job_id);
  /// Cancels everything and waits for it, and for polling clients to fetch their results.
  void stop();
  size_t running() const;
  /// Returns when the oldest running job began, in microseconds since 1970; the largest number if
  /// none runs.
  uint64_t oldest_start() const;

 private:
  struct Job;
  std::shared_ptr<Job> find(uint64_t job_id) const;
  size_t running_jobs() const;  ///< Requires mutex_ to be held.
  void forget_old();
  // Require mutex_ to be held.
  Status set_lease(Job& job, std::optional<uint64_t> lease_ms);
  void renew_lease(Job& job, uint64_t wait_ms);
  void watch_leases();
  void wait_until_told();

  mutable std::mutex mutex_;
  bool stopping_ = false;                               // Guarded by mutex_.
  uint64_t next_id_;                                    // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;       // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<Job>> by_key_;  // Guarded by mutex_.
  std::condition_variable leases_changed_;  // With mutex_: a lease changed, or stopping_.
  std::thread lease_watch_;                 // Started with the first lease; guarded by mutex_.
};

}  // namespace gpuemu
