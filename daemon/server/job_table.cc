// Jobs and the threads that run them.
#include "daemon/server/job_table.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/service_limits.h"
#include "common/codec/json_codec.h"
#include "daemon/records/stored_project.h"

namespace gpuemu {
namespace {

// Finished jobs whose result a slow client may still fetch.
constexpr size_t kFinishedJobsKept = 64;
constexpr uint64_t kStatusWaitMillisecondsMax = 10'000;
// Interval at which expired leases are checked.
constexpr std::chrono::milliseconds kLeaseLook{200};
// Time for polling clients to fetch the results of their jobs from a stopping daemon.
constexpr std::chrono::milliseconds kToldMax{1000}, kToldLook{5};
// Ids of one daemon's jobs differ only in these bits.
constexpr unsigned kJobIdBits = 16;

/// Formats the line for published clients.
std::string published(const JobLine& line) {
  return line.kind == JobLineKind::Warning ? fmt::format("warning: {}", line.text) : line.text;
}

/// Marks the reply of stopped work, so that it does not look complete.
void mark_incomplete(Reply& reply, const std::string& why) {
  if (std::string* const incomplete = incomplete_of(reply)) *incomplete = why;
}

/// Adds why the job was stopped to the error, or to the report of what it found until then.
void mark_stopped(Reply& reply, WireErrorCode code, const std::string& why) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.error; }) {
          const bool said = one.error.empty() || one.error == why;
          one.error = said ? why : fmt::format("{}; {}", why, one.error);
        }
        if constexpr (requires { one.summary.error; }) one.summary.error = why;
      },
      reply);
  auto* const failure = std::get_if<ErrorReply>(&reply);
  if (failure != nullptr && failure->code == WireErrorCode::InternalError) {
    *failure = {code, why};
  }
}

}  // namespace

struct JobTable::Job : std::enable_shared_from_this<JobTable::Job> {
  JobControl control;
  JobOrigin origin;     ///< Without the claim, which only lasts as long as the work.
  std::string session;  ///< Name of the session.
  std::weak_ptr<LaneUse> claim_of_work;  ///< Set before the work begins.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point start_date = std::chrono::system_clock::now();
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;                        // Guarded by mutex.
  std::chrono::steady_clock::time_point asked;  // Time of the last status(); guarded by mutex.
  bool told = false;                            // The result was fetched; guarded by mutex.
  Reply reply = OkReply{};                      // Guarded by mutex.
  /// Guarded by the table's mutex. Does not expire while a status() is waiting.
  std::optional<std::chrono::milliseconds> lease;
  std::chrono::steady_clock::time_point lease_end;

  /// Stops the job when its claim is stopped.
  void follow(LaneUse& use) {
    use.on_stop([weak = weak_from_this()](const LaneStop& stop) {
      const auto job = weak.lock();
      if (job == nullptr) return;
      if (stop.why == LaneStop::Why::WorkEnded) return;  // Caused by stop() below.
      const JobStop why = stop.why == LaneStop::Why::LimitReached  ? JobStop::LimitReached
                          : stop.why == LaneStop::Why::DaemonStops ? JobStop::DaemonStops
                                                                   : JobStop::SessionEnded;
      job->control.stop(why, stop.text);
    });
  }

  /// Asks the work to end, and cancels its waits for slots.
  void stop(JobStop why) {
    control.stop(why);
    if (const LaneClaim use = claim_of_work.lock()) {
      use->stop({LaneStop::Why::WorkEnded, "the work was ended"});
    }
  }

  void perform(const Work& work, const LaneClaim& claim) {
    Reply answer = OkReply{};
    if (claim != nullptr) follow(*claim);
    try {
      answer = work(control);
    } catch (const std::exception& surprise) {  // The last resort: a job must not end the daemon.
      answer = ErrorReply{WireErrorCode::InternalError, surprise.what()};
    }
    if (claim != nullptr) {
      claim->on_stop(nullptr);
      claim->finish();
    }
    const std::lock_guard lock(mutex);
    if (control.cancel) mark_incomplete(answer, control.incomplete());
    if (control.is_stopped()) mark_stopped(answer, WireErrorCode::Stopped, control.incomplete());
    if (control.is_limited()) {
      mark_stopped(answer, WireErrorCode::LimitExceeded, control.incomplete());
    }
    reply = std::move(answer);
    finished = true;
    changed.notify_all();
  }

  /// Requires mutex to be held.
  JobState state() const {
    if (!finished) return JobState::Running;
    if (control.is_stopped() || control.is_limited()) return JobState::Failed;
    if (control.cancel) return JobState::Cancelled;
    return std::holds_alternative<ErrorReply>(reply) ? JobState::Failed : JobState::Done;
  }

  Reply wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished; });
    return reply;
  }
};

/// Starts at a random id: a client that outlives its daemon must not get another job's result from
/// the next daemon.
JobTable::JobTable() : next_id_((uint64_t{std::random_device()()} << kJobIdBits) + 1) {}

JobTable::~JobTable() { stop(); }

void JobTable::forget_old() {
  size_t finished = 0;
  for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
    const std::lock_guard lock(at->second->mutex);
    finished += at->second->finished ? 1 : 0;
  }
  for (auto at = jobs_.begin(); at != jobs_.end() && finished > kFinishedJobsKept;) {
    bool over = false;
    {
      const std::lock_guard lock(at->second->mutex);
      over = at->second->finished;
    }
    if (!over) {
      ++at;
      continue;
    }
    at->second->thread.join();
    at = jobs_.erase(at);
    --finished;
  }
}

Result<uint64_t> JobTable::start(Work work, std::optional<uint64_t> lease_ms, JobOrigin origin) {
  const std::lock_guard lock(mutex_);
  // The resources of jobs are about to be destroyed.
  if (stopping_) {
    return error(ErrorCode::Unavailable,
                 "the daemon is stopping; send the request to the next one");
  }
  forget_old();
  if (running_jobs() >= kRequestsUnfinishedMax) {
    return error(ErrorCode::ResourceExhausted,
                 "{} jobs are running, the limit; wait for one or cancel one (JobCancel)",
                 kRequestsUnfinishedMax);
  }
  auto job = std::make_shared<Job>();
  GPUEMU_TRY(set_lease(*job, lease_ms));
  const LaneClaim claim = std::exchange(origin.claim, nullptr);
  if (claim != nullptr) {
    claim->is_job = true;
    job->session = claim->session().name();
    job->claim_of_work = claim;
  }
  job->origin = std::move(origin);
  const uint64_t id = next_id_++;
  job->control.job = id;
  try {
    job->thread = std::thread(
        [raw = job.get(), work = std::move(work), claim] { raw->perform(work, claim); });
    // The error of the standard library if there is no thread.
  } catch (const std::system_error& refused) {
    return error(ErrorCode::ResourceExhausted,
                 "the system has no thread for another job: {}; wait for a job to end",
                 refused.what());
  }
  jobs_[id] = job;
  renew_lease(*job, 0);
  return id;
}

Reply JobTable::run(const std::string& key, const Work& work, const LaneClaim& claim) {
  std::shared_ptr<Job> job;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Job>& slot = by_key_[key];
    mine = slot == nullptr;
    if (mine) {
      slot = std::make_shared<Job>();
      slot->control.job = next_id_++;
      slot->claim_of_work = claim;
    }
    job = slot;
    if (stopping_) job->stop(JobStop::DaemonStops);
  }
  if (!mine) return job->wait();
  job->perform(work, claim);
  const std::lock_guard lock(mutex_);
  by_key_.erase(key);
  return job->wait();
}

std::shared_ptr<JobTable::Job> JobTable::find(uint64_t job_id) const {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(job_id);
  return at == jobs_.end() ? nullptr : at->second;
}

Status JobTable::set_lease(Job& job, std::optional<uint64_t> lease_ms) {
  if (!lease_ms) return ok_status();
  const std::chrono::milliseconds longest = kJobLeaseMax;
  if (*lease_ms > static_cast<uint64_t>(longest.count())) {
    return error(ErrorCode::InvalidArgument, "lease_ms is {}, the limit is {}", *lease_ms,
                 longest.count());
  }
  job.lease.reset();
  if (*lease_ms > 0) job.lease = std::chrono::milliseconds(*lease_ms);
  return ok_status();
}

/// Starts at the latest time at which the status() in progress can be answered.
void JobTable::renew_lease(Job& job, uint64_t wait_ms) {
  if (!job.lease || stopping_) return;
  const auto wait = std::chrono::milliseconds(
      static_cast<int64_t>(std::min(wait_ms, kStatusWaitMillisecondsMax)));
  job.lease_end = std::chrono::steady_clock::now() + wait + *job.lease;
  if (lease_watch_.joinable()) return;
  try {
    lease_watch_ = std::thread([this] { watch_leases(); });
  } catch (const std::system_error&) {
    job.lease.reset();  // The job then continues without a lease.
  }
}

void JobTable::watch_leases() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [id, job] : jobs_) {
      if (!job->lease || now < job->lease_end) continue;
      job->lease.reset();
      const std::lock_guard job_lock(job->mutex);
      if (!job->finished) job->stop(JobStop::Abandoned);
    }
    leases_changed_.wait_for(lock, kLeaseLook, [&] { return stopping_; });
  }
}

Result<JobStatusReply> JobTable::status(const JobStatusRequest& request) {
  const std::shared_ptr<Job> job = find(request.job_id);
  if (job == nullptr) return error(ErrorCode::NotFound, "no job {}", request.job_id);
  {
    const std::lock_guard lock(mutex_);
    GPUEMU_TRY(set_lease(*job, request.lease_ms));
    renew_lease(*job, request.wait_ms);
  }
  std::unique_lock lock(job->mutex);
  const auto wait = static_cast<int64_t>(std::min(request.wait_ms, kStatusWaitMillisecondsMax));
  job->changed.wait_for(lock, std::chrono::milliseconds(wait), [&] { return job->finished; });
  job->asked = std::chrono::steady_clock::now();
  JobStatusReply status;
  status.job_id = request.job_id;
  std::vector<JobLine> lines = job->control.lines(request.lines_from.value_or(request.log_from));
  if (request.lines_from) {
    status.lines = std::move(lines);
  } else {
    for (const JobLine& line : lines) status.log.push_back(published(line));
  }
  if (request.events_from) {
    status.events = job->control.events(*request.events_from);
  } else {
    job->control.forget_events();
  }
  status.done = job->control.done;
  status.total = job->control.total;
  status.failures = job->control.failures;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - job->start).count();
  if (seconds > 0) status.rate = static_cast<double>(status.done) / seconds;
  if (status.rate > 0 && status.total >= status.done) {
    status.seconds_left = static_cast<double>(status.total - status.done) / status.rate;
  }
  if (!job->finished) return status;
  const bool stopped = job->control.is_stopped();
  const bool limited = job->control.is_limited();
  if (stopped) status.code = WireErrorCode::Stopped;
  if (limited) status.code = WireErrorCode::LimitExceeded;
  status.state = job->state();
  status.seconds_left = 0;
  job->told = true;
  status.result_json = encode_reply(job->reply);
  return status;
}

std::vector<JobInfo> JobTable::list() const {
  std::vector<JobInfo> listed;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    const std::lock_guard job_lock(job->mutex);
    listed.push_back({.job_id = id,
                      .project = project_of_space(job->origin.space),
                      .session = job->session,
                      .request = job->origin.request,
                      .state = job->state(),
                      .done = job->control.done,
                      .total = job->control.total,
                      .user = user_of_space(job->origin.space)});
  }
  return listed;
}

bool JobTable::is_for(const std::string& user, uint64_t job_id) const {
  const auto job = find(job_id);
  return job == nullptr || user.empty() || user_of_space(job->origin.space) == user;
}

Status JobTable::cancel(uint64_t job_id) {
  const std::shared_ptr<Job> job = find(job_id);
  if (job == nullptr) return error(ErrorCode::NotFound, "no job {}", job_id);
  const std::lock_guard lock(job->mutex);
  if (!job->finished) job->stop(JobStop::Cancelled);
  return ok_status();
}

/// A client that has just polled a job will poll again soon.
void JobTable::wait_until_told() {
  const auto start = std::chrono::steady_clock::now(), deadline = start + kToldMax;
  const auto is_waited_for = [&](const auto& entry) {
    const std::lock_guard lock(entry.second->mutex);
    return !entry.second->told && entry.second->asked > start - kToldMax;
  };
  while (std::chrono::steady_clock::now() < deadline) {
    {
      const std::lock_guard lock(mutex_);
      if (std::ranges::none_of(jobs_, is_waited_for)) return;
    }
    std::this_thread::sleep_for(kToldLook);
  }
}

void JobTable::stop() {
  std::map<uint64_t, std::shared_ptr<Job>> jobs;
  std::thread watch;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [key, job] : by_key_) job->stop(JobStop::DaemonStops);
    jobs = jobs_;
    watch.swap(lease_watch_);
    leases_changed_.notify_all();
  }
  if (watch.joinable()) watch.join();
  // Ask all of them before waiting for any, so that they end at the same time.
  for (auto& [id, job] : jobs) {
    const std::lock_guard lock(job->mutex);
    if (!job->finished) job->stop(JobStop::DaemonStops);
  }
  for (auto& [id, job] : jobs) {
    if (job->thread.joinable()) job->thread.join();
  }
  wait_until_told();
}

size_t JobTable::running() const {
  const std::lock_guard lock(mutex_);
  return by_key_.size() + running_jobs();
}

uint64_t JobTable::oldest_start() const {
  auto oldest = std::chrono::system_clock::time_point::max();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, job] : by_key_) oldest = std::min(oldest, job->start_date);
  for (const auto& [id, job] : jobs_) {
    const std::lock_guard job_lock(job->mutex);
    if (!job->finished) oldest = std::min(oldest, job->start_date);
  }
  if (oldest == std::chrono::system_clock::time_point::max()) {
    return std::numeric_limits<uint64_t>::max();
  }
  const auto since =
      std::chrono::duration_cast<std::chrono::microseconds>(oldest.time_since_epoch());
  return static_cast<uint64_t>(since.count());
}

size_t JobTable::running_jobs() const {
  size_t count = 0;
  for (const auto& [id, job] : jobs_) {
    const std::lock_guard job_lock(job->mutex);
    count += job->finished ? 0 : 1;
  }
  return count;
}

}  // namespace gpuemu
