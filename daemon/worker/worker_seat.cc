#include "daemon/worker/worker_seat.h"

#include <utility>

#include "daemon/worker/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

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
  GPUEMU_CHECK(!turn_.owns_lock());
  plan.arena = arena_;
  turn_ = std::unique_lock(worker_->turn);
  if (cancel_ != nullptr && *cancel_) {
    cancelled_ = true;
    end_turn();
    return error(ErrorCode::Cancelled, "cancelled before the kernel ran");
  }
  const auto loaded = worker_->process.load(key, name, ptx);
  Status begun = loaded ? worker_->process.begin(plan) : Status(loaded.error());
  if (!begun) end_turn();
  return begun;
}

Result<ExecutionReport> WorkerSeat::finish() {
  GPUEMU_CHECK(turn_.owns_lock());
  Result<ExecutionReport> report = worker_->process.finish(cancel_);
  if (!report && report.error().code == ErrorCode::Cancelled) cancelled_ = true;
  end_turn();
  return report;
}

}  // namespace gpuemu
