// A worker process that keeps tensors of a tape. It is not restarted, because its tensors would be
// lost.
#include <atomic>
#include <mutex>
#include <utility>

#include "daemon/executor/plan.h"
#include "daemon/worker/tape_channel.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

class TapeProcess final : public TapeChannel {
 public:
  TapeProcess(WorkerOptions options, std::string worker_id)
      : client_(std::move(options), {}), worker_id_(std::move(worker_id)) {}

  Status start() {
    const auto properties = client_.properties();
    return properties ? ok_status() : Status(properties.error());
  }
  std::string worker_id() const override { return worker_id_; }
  TapeReply ask(std::vector<std::byte> request) override;
  bool is_lost() override;

 private:
  std::mutex mutex_;
  WorkerClient client_;  // Guarded by mutex_.
  const std::string worker_id_;
  std::atomic<bool> is_lost_{false};
};

TapeReply TapeProcess::ask(std::vector<std::byte> request) {
  const std::lock_guard lock(mutex_);
  if (is_lost_ || !client_.runs()) {
    is_lost_ = true;
    return {TapeReply::End::LostBefore};
  }
  auto answer = client_.ask(request);
  if (answer) return {TapeReply::End::Answered, *std::move(answer)};
  is_lost_ = true;
  return {answer.error().code == ErrorCode::Timeout ? TapeReply::End::TooLong
                                                    : TapeReply::End::LostWithIt};
}

bool TapeProcess::is_lost() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && !client_.runs()) is_lost_ = true;
  return is_lost_;
}

}  // namespace

Result<std::shared_ptr<TapeChannel>> start_tape_process(WorkerOptions options,
                                                        std::string worker_id) {
  auto process = std::make_shared<TapeProcess>(std::move(options), std::move(worker_id));
  GPUEMU_TRY(process->start());
  return std::shared_ptr<TapeChannel>(std::move(process));
}

}  // namespace gpuemu
