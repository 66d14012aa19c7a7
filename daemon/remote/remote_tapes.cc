#include "daemon/remote/remote_tapes.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "daemon/remote/mailbox.h"
#include "daemon/worker/plan_codec.h"

namespace gpuemu {
namespace {

/// The time limit of an answer: longer than the remote worker waits for its own process.
constexpr std::chrono::milliseconds kAnswerMax{kTapeRequestMs + 60'000};

/// Returns why a worker did not answer a request.
TapeReply::End end_of(const RemoteMessage& refused) {
  using enum TapeReply::End;
  ByteReader in(refused.body);
  const auto kind = decode_kind(in);
  if (!kind || *kind != MessageKind::Failed) return LostWithIt;
  switch (decode_failure(in).code) {
    case ErrorCode::Timeout:
      return TooLong;
    case ErrorCode::NotFound:  // Its process had already gone.
      return LostBefore;
    default:
      return LostWithIt;
  }
}

class RemoteTapes final : public TapeChannel {
 public:
  RemoteTapes(std::shared_ptr<RemoteRegistry> registry,
              std::shared_ptr<RemoteRegistry::Member> member, const WorkerOptions& options,
              size_t device)
      : registry_(std::move(registry)),
        member_(std::move(member)),
        begin_{options, fmt::format("tape device {}", device)} {}
  ~RemoteTapes() override { registry_->end_tape(member_); }

  std::string worker_id() const override { return member_->identity.worker_id; }
  TapeReply ask(std::vector<std::byte> request) override;
  bool is_lost() override { return is_lost_ || member_->mailbox->is_closed(); }

 private:
  /// Returns nothing if the worker is lost.
  std::optional<RemoteMessage> answer_to(uint64_t number);

  const std::shared_ptr<RemoteRegistry> registry_;
  const std::shared_ptr<RemoteRegistry::Member> member_;
  const RemoteBegin begin_;
  std::mutex mutex_;
  bool has_begun_ = false;  // Guarded by mutex_.
  std::atomic<bool> is_lost_{false};
};

std::optional<RemoteMessage> RemoteTapes::answer_to(uint64_t number) {
  const auto end = RemoteRegistry::Clock::now() + kAnswerMax;
  while (auto message = member_->mailbox->receive(end)) {
    if (message->work == number) return message;
  }
  return std::nullopt;
}

TapeReply RemoteTapes::ask(std::vector<std::byte> request) {
  const std::lock_guard lock(mutex_);
  if (is_lost_ || !registry_->occupy(member_)) {
    is_lost_ = true;
    return {TapeReply::End::LostBefore};
  }
  const uint64_t number = registry_->begin_attempt(member_);
  const uint64_t is_first = std::exchange(has_begun_, true) ? 0 : 1;
  const bool sent = member_->mailbox->send(
      {RemoteKind::Tape, number, 1, is_first, encode_remote_tape({begin_, std::move(request)})});
  auto answer = sent ? answer_to(number) : std::nullopt;
  if (!answer) {
    // It may still be busy, so its connection is closed.
    registry_->lose(member_);
    registry_->count_loss(member_);
  }
  registry_->give_back(member_);
  if (answer && answer->kind == RemoteKind::TapeAnswer) {
    return {TapeReply::End::Answered, std::move(answer->body)};
  }
  is_lost_ = true;
  if (answer) return {end_of(*answer)};
  return {sent ? TapeReply::End::LostWithIt : TapeReply::End::LostBefore};
}

}  // namespace

std::shared_ptr<TapeChannel> keep_tapes(std::shared_ptr<RemoteRegistry> registry,
                                        std::shared_ptr<RemoteRegistry::Member> member,
                                        const WorkerOptions& options, size_t device) {
  return std::make_shared<RemoteTapes>(std::move(registry), std::move(member), options, device);
}

}  // namespace gpuemu
