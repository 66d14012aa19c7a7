#include "daemon/worker/worker_seat.h"

#include <utility>

#include <fmt/ranges.h>

#include "daemon/worker/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

/// So many workers may be lost with one plan: it may be why.
constexpr size_t kLossesMax = 2;

}  // namespace

void WorkerSeat::end_turn() {
  worker_->pid = worker_->process.pid();
  worker_->restarts = worker_->process.restarts();
  turn_.unlock();
}

Result<DeviceProperties> WorkerSeat::properties() {
  turn_ = std::unique_lock(worker_->turn);
  Result<DeviceProperties> properties = worker_->process.properties();
  end_turn();
  return properties;
}

Status WorkerSeat::begin(const std::string& key, const std::string& name, const std::string& ptx,
                         ExecutionPlan plan) {
  GPUEMU_CHECK(!turn_.owns_lock() && !elsewhere_);
  plan.arena = arena_;
  if (auto remote = take_remote()) {
    elsewhere_ = Elsewhere{std::move(remote), {key, name, ptx}, std::move(plan)};
    return ok_status();
  }
  return begin_here({key, name, ptx}, plan);
}

std::unique_ptr<RemoteWorker> WorkerSeat::take_remote() const {
  return worker_->remotes == nullptr ? nullptr : worker_->remotes->take(worker_->options);
}

Status WorkerSeat::begin_here(const ModuleText& module, const ExecutionPlan& plan) {
  turn_ = std::unique_lock(worker_->turn);
  if (cancel_ != nullptr && *cancel_) {
    cancelled_ = true;
    end_turn();
    return error(ErrorCode::Cancelled, "cancelled before the kernel ran");
  }
  const auto loaded = worker_->process.load(module.key, module.name, module.ptx);
  Status begun = loaded ? worker_->process.begin(plan) : Status(loaded.error());
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
    work.worker = take_remote();
  }
  const Status begun = begin_here(work.module, work.plan);
  return begun ? finish_here() : Result<ExecutionReport>(begun.error());
}

Result<ExecutionReport> WorkerSeat::finish_here() {
  GPUEMU_CHECK(turn_.owns_lock());
  Result<ExecutionReport> report = worker_->process.finish(cancel_);
  if (!report && report.error().code == ErrorCode::Cancelled) cancelled_ = true;
  end_turn();
  return report;
}

}  // namespace gpuemu
