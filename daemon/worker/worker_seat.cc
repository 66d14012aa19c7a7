#include "daemon/worker/worker_seat.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/ranges.h>

#include "daemon/executor/plan.h"
#include "daemon/worker/plan_codec.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

/// Limit of workers lost with one plan, because the plan may be the cause.
constexpr size_t kLossesMax = 2;
/// Interval at which a wait for a remote worker checks for cancellation.
constexpr std::chrono::milliseconds kCancelLook{100};

}  // namespace

void WorkerSeat::take_turn() {
  std::unique_lock<std::mutex>& lock = turn_->lock;
  if (lock.owns_lock()) return;
  lock = std::unique_lock(*worker_->turn, std::defer_lock);
  const auto until = std::chrono::steady_clock::now() + worker_->busy_wait;
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      continue;
    }
    lock.lock();
    return;
  }
}

/// Passes the turn on, unless answers for seats beside this one are missing.
void WorkerSeat::end_turn() {
  worker_->local.look();
  if (!worker_->local.is_idle()) return;
  for (const uint32_t arena : turn_->in_flight) {
    turn_->answers.insert_or_assign(arena, worker_->local.finish(nullptr, arena));
  }
  turn_->in_flight.clear();
  worker_->pid = worker_->local.pid();
  worker_->restarts = worker_->local.restarts();
  turn_->lock.unlock();
}

void WorkerSeat::settle() {
  if (!turn_->lock.owns_lock()) return;
  for (const uint32_t arena : turn_->in_flight) {
    turn_->answers.insert_or_assign(arena, worker_->local.finish(cancel_, arena));
  }
  turn_->in_flight.clear();
  end_turn();
}

bool WorkerSeat::may_queue() const {
  return worker_->places.has_processes && worker_->places.runs_local &&
         worker_->places.remotes == nullptr;
}

Result<DeviceProperties> WorkerSeat::properties() {
  {
    const std::lock_guard lock(worker_->properties_mutex);
    if (worker_->properties) return *worker_->properties;
  }
  take_turn();
  Result<DeviceProperties> properties = worker_->local.properties();
  end_turn();
  const std::lock_guard lock(worker_->properties_mutex);
  if (properties) worker_->properties = *properties;
  return properties;
}

Status WorkerSeat::begin_local(const std::string& key, const std::string& name,
                               const std::string& ptx, ExecutionPlan plan) {
  GPUEMU_CHECK(!is_here_ && !elsewhere_);
  plan.arena = arena_;
  return begin_here({key, name, ptx}, plan);
}

Status WorkerSeat::begin(const std::string& key, const std::string& name, const std::string& ptx,
                         ExecutionPlan plan) {
  GPUEMU_CHECK(!is_here_ && !elsewhere_);
  plan.arena = arena_;
  auto remote = GPUEMU_TRY(find_place());
  if (remote == nullptr) return begin_here({key, name, ptx}, plan);
  elsewhere_ = Elsewhere{std::move(remote), {key, name, ptx}, std::move(plan)};
  return ok_status();
}

Error WorkerSeat::cancelled() {
  cancelled_ = true;
  return {ErrorCode::Cancelled, "cancelled before the kernel ran"};
}

Result<std::unique_ptr<RemoteWorker>> WorkerSeat::find_place() {
  const WorkerPlaces& places = worker_->places;
  if (places.remotes == nullptr) return std::unique_ptr<RemoteWorker>();
  for (;;) {
    if (auto remote = places.remotes->take(worker_->options)) return remote;
    const bool may_wait = places.prefers_remote && places.remotes->has(worker_->options);
    if (places.runs_local && !may_wait) return std::unique_ptr<RemoteWorker>();
    if (cancel_ != nullptr && *cancel_) return cancelled();
    if (!places.remotes->wait(kCancelLook)) {
      return error(ErrorCode::Unavailable, "the daemon is shutting down");
    }
  }
}

Status WorkerSeat::begin_here(const ModuleText& module, const ExecutionPlan& plan) {
  // Other seats use the worker meanwhile.
  std::vector<std::byte> message = encode_plan(plan);
  take_turn();
  if (cancel_ != nullptr && *cancel_) {
    end_turn();
    return cancelled();
  }
  const auto loaded = worker_->local.load(module.key, module.name, module.ptx);
  Status begun = loaded ? worker_->local.begin(plan, std::move(message)) : Status(loaded.error());
  if (!worker_->places.has_processes) ++plans_inside_;
  is_here_ = begun.ok();
  if (is_here_) turn_->in_flight.insert(arena_);
  if (!begun) end_turn();
  return begun;
}

Result<ExecutionReport> WorkerSeat::finish() {
  if (!elsewhere_) return finish_here();
  return finish_elsewhere(*std::exchange(elsewhere_, std::nullopt));
}

Result<ExecutionReport> WorkerSeat::finish_elsewhere(Elsewhere work) {
  std::vector<std::string> lost;
  while (work.worker != nullptr) {
    const auto attempt = static_cast<uint32_t>(lost.size() + 1);
    auto report = work.worker->run(
        {worker_->options, work.module, work.plan, *worker_->arenas[arena_], cancel_, attempt});
    if (report) {
      cancelled_ |= !*report && report->error().code == ErrorCode::Cancelled;
      return *std::move(report);
    }
    lost.push_back(work.worker->name());
    if (lost.size() == kLossesMax) {
      return error(ErrorCode::Unavailable,
                   "the workers {} were lost while they ran it; it is not tried again",
                   fmt::join(lost, " and "));
    }
    work.worker = GPUEMU_TRY(find_place());
  }
  const Status begun = begin_here(work.module, work.plan);
  return begun ? finish_here() : Result<ExecutionReport>(begun.error());
}

Result<ExecutionReport> WorkerSeat::finish_here() {
  GPUEMU_CHECK(is_here_);
  is_here_ = false;
  if (auto known = turn_->answers.extract(arena_)) return judged(std::move(known.mapped()));
  Result<ExecutionReport> report = worker_->local.finish(cancel_, arena_);
  turn_->in_flight.erase(arena_);
  end_turn();
  return judged(std::move(report));
}

/// Notes whether it was cancelled.
Result<ExecutionReport> WorkerSeat::judged(Result<ExecutionReport> report) {
  if (!report && report.error().code == ErrorCode::Cancelled) cancelled_ = true;
  return report;
}

}  // namespace gpuemu
