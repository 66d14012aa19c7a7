// Jobs and the threads that run them.
#include "daemon/server/job_table.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "common/protocol/json_codec.h"

namespace gpuemu {
namespace {

// Finished jobs whose result a slow client may still fetch.
constexpr size_t kFinishedJobsKept = 64;
constexpr std::chrono::milliseconds kStatusWaitMax{10'000};

}  // namespace

struct JobTable::Job {
  JobControl control;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;    // Guarded by mutex.
  Reply reply = OkReply{};  // Guarded by mutex.

  void perform(const Work& work) {
    Reply answer = OkReply{};
    try {
      answer = work(control);
    } catch (const std::exception& surprise) {  // The last net: a job must not end the daemon.
      answer = ErrorReply{WireErrorCode::InternalError, surprise.what()};
    }
    const std::lock_guard lock(mutex);
    reply = std::move(answer);
    finished = true;
    changed.notify_all();
  }

  Reply wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished; });
    return reply;
  }
};

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

uint64_t JobTable::start(Work work) {
  const std::lock_guard lock(mutex_);
  forget_old();
  auto job = std::make_shared<Job>();
  job->control.cancel = stopping_;
  const uint64_t id = next_id_++;
  jobs_[id] = job;
  job->thread = std::thread([raw = job.get(), work = std::move(work)] { raw->perform(work); });
  return id;
}

Reply JobTable::run(const std::string& key, const Work& work) {
  std::shared_ptr<Job> job;
  bool mine = false;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Job>& slot = by_key_[key];
    mine = slot == nullptr;
    if (mine) slot = std::make_shared<Job>();
    job = slot;
    job->control.cancel = job->control.cancel || stopping_;
  }
  if (!mine) return job->wait();
  job->perform(work);
  const std::lock_guard lock(mutex_);
  by_key_.erase(key);
  return job->wait();
}

std::shared_ptr<JobTable::Job> JobTable::find(uint64_t job_id) const {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(job_id);
  return at == jobs_.end() ? nullptr : at->second;
}

Result<JobStatusReply> JobTable::status(uint64_t job_id, std::chrono::milliseconds wait) {
  const std::shared_ptr<Job> job = find(job_id);
  if (job == nullptr) return error(ErrorCode::NotFound, "no job {}", job_id);
  std::unique_lock lock(job->mutex);
  job->changed.wait_for(lock, std::min(wait, kStatusWaitMax), [&] { return job->finished; });
  JobStatusReply status;
  status.job_id = job_id;
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
  const bool failed = std::holds_alternative<ErrorReply>(job->reply);
  status.state = job->control.cancel ? JobState::Cancelled
                 : failed            ? JobState::Failed
                                     : JobState::Done;
  status.seconds_left = 0;
  status.result_json = encode_reply(job->reply);
  return status;
}

Status JobTable::cancel(uint64_t job_id) {
  const std::shared_ptr<Job> job = find(job_id);
  if (job == nullptr) return error(ErrorCode::NotFound, "no job {}", job_id);
  job->control.cancel = true;
  return ok_status();
}

void JobTable::stop() {
  std::map<uint64_t, std::shared_ptr<Job>> jobs;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [key, job] : by_key_) job->control.cancel = true;
    jobs.swap(jobs_);
  }
  for (auto& [id, job] : jobs) {
    job->control.cancel = true;
    if (job->thread.joinable()) job->thread.join();
  }
}

size_t JobTable::running() const {
  const std::lock_guard lock(mutex_);
  size_t count = by_key_.size();
  for (const auto& [id, job] : jobs_) {
    const std::lock_guard job_lock(job->mutex);
    count += job->finished ? 0 : 1;
  }
  return count;
}

}  // namespace gpuemu
