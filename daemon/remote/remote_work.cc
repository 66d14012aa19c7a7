#include "daemon/remote/remote_work.h"

#include <algorithm>
#include <utility>

#include "daemon/executor/plan_ranges.h"
#include "daemon/remote/mailbox.h"
#include "daemon/worker/plan_codec.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

/// The time for loading a module and sending tensors, beyond that of the plan itself.
constexpr std::chrono::minutes kBeyondPlan{10};
constexpr std::chrono::milliseconds kCancelLook{100};
/// A worker that gets a cancel message ends its kernel within a second.
constexpr std::chrono::seconds kCancelPatience{10};

class LentWorker : public RemoteWorker {
 public:
  LentWorker(std::shared_ptr<RemoteRegistry> registry,
             std::shared_ptr<RemoteRegistry::Member> member)
      : registry_(std::move(registry)), member_(std::move(member)) {}
  ~LentWorker() override { registry_->give_back(member_); }

  std::string name() const override { return member_->identity.worker_id; }
  std::optional<Result<ExecutionReport>> run(const RemoteWork& work) override;

 private:
  /// The result; no value if the worker can no longer be used.
  using Outcome = std::optional<Result<ExecutionReport>>;
  struct Arrived {
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };

  bool send(RemoteKind kind, std::vector<std::byte> body, uint64_t offset = 0);
  bool send_inputs(const RemoteWork& work);
  /// Returns the next message about this attempt; nothing if the worker is lost.
  std::optional<RemoteMessage> next(const RemoteWork& work);
  Outcome wait(const RemoteWork& work);
  /// Stores received outputs; returns false for data that was not requested.
  bool keep(RemoteMessage message);
  Outcome finish(const RemoteMessage& last, const RemoteWork& work);

  const std::shared_ptr<RemoteRegistry> registry_;
  const std::shared_ptr<RemoteRegistry::Member> member_;
  uint64_t number_ = 0;
  uint32_t attempt_ = 0;
  PlanRanges ranges_;
  Clock::time_point end_, cancelled_end_ = Clock::time_point::max();
  uint64_t bytes_left_ = 0;       ///< The bytes of the outputs that have not arrived.
  std::vector<Arrived> outputs_;  ///< Written once the work is done, so that a lost worker leaves
                                  ///< no partial outputs.
};

bool LentWorker::send(RemoteKind kind, std::vector<std::byte> body, uint64_t offset) {
  return member_->mailbox->send({kind, number_, attempt_, offset, std::move(body)});
}

bool LentWorker::send_inputs(const RemoteWork& work) {
  for (const ArenaRange& range : ranges_.inputs) {
    for (uint64_t at = 0; at < range.bytes; at += kDataBytesMax) {
      const uint64_t bytes = std::min<uint64_t>(kDataBytesMax, range.bytes - at);
      const auto from = work.arena.range(range.offset + at, bytes);
      if (!from) return false;
      if (!send(RemoteKind::Data, {from->begin(), from->end()}, range.offset + at)) return false;
    }
  }
  return true;
}

std::optional<RemoteMessage> LentWorker::next(const RemoteWork& work) {
  for (;;) {
    const auto now = Clock::now();
    if (now >= std::min(end_, cancelled_end_)) return std::nullopt;
    if (work.cancel != nullptr && *work.cancel && cancelled_end_ == Clock::time_point::max()) {
      cancelled_end_ = now + kCancelPatience;
      send(RemoteKind::Cancel, {});
    }
    auto message = member_->mailbox->receive(std::min(end_, now + kCancelLook));
    if (!message && member_->mailbox->is_closed()) return std::nullopt;
    // Ignore answers to older attempts.
    if (message && message->work == number_ && message->attempt == attempt_) return message;
  }
}

bool LentWorker::keep(RemoteMessage message) {
  const auto holds = [&](const ArenaRange& range) {
    return message.offset >= range.offset && message.body.size() <= range.bytes &&
           message.offset - range.offset <= range.bytes - message.body.size();
  };
  if (!std::ranges::any_of(ranges_.outputs, holds)) return false;
  if (message.body.size() > bytes_left_) return false;
  bytes_left_ -= message.body.size();
  outputs_.push_back({message.offset, std::move(message.body)});
  return true;
}

LentWorker::Outcome LentWorker::finish(const RemoteMessage& last, const RemoteWork& work) {
  ByteReader in(last.body);
  const auto kind = decode_kind(in);
  if (!kind) return std::nullopt;
  if (last.kind == RemoteKind::Failed) {
    if (*kind != MessageKind::Failed) return std::nullopt;
    return Result<ExecutionReport>(decode_failure(in));
  }
  if (*kind != MessageKind::Report) return std::nullopt;
  auto report = decode_report(in);
  if (!report) return std::nullopt;
  for (const Arrived& one : outputs_) {
    const auto to = work.arena.range(one.offset, one.bytes.size());
    if (!to) return Result<ExecutionReport>(to.error());
    std::ranges::copy(one.bytes, to->begin());
  }
  return report;
}

LentWorker::Outcome LentWorker::wait(const RemoteWork& work) {
  while (auto message = next(work)) {
    switch (message->kind) {
      case RemoteKind::WantModule:
        if (!send(RemoteKind::Module, encode_module(work.module))) return std::nullopt;
        break;
      case RemoteKind::Data:
        if (!keep(*std::move(message))) return std::nullopt;
        break;
      case RemoteKind::Report:
      case RemoteKind::Failed:
        return finish(*message, work);
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Returns the ranges that the plan reads and writes, all of which lie in the arena.
Result<PlanRanges> checked_ranges(const RemoteWork& work) {
  PlanRanges ranges = GPUEMU_TRY(ranges_of(work.plan));
  for (const auto* list : {&ranges.inputs, &ranges.outputs}) {
    for (const ArenaRange& one : *list) GPUEMU_TRY(work.arena.range(one.offset, one.bytes));
  }
  return ranges;
}

LentWorker::Outcome LentWorker::run(const RemoteWork& work) {
  auto ranges = checked_ranges(work);
  if (!ranges) return Result<ExecutionReport>(ranges.error());
  ranges_ = *std::move(ranges);
  outputs_.clear();
  bytes_left_ = 0;
  for (const ArenaRange& range : ranges_.outputs) bytes_left_ += range.bytes;
  number_ = registry_->begin_attempt(member_);
  attempt_ = work.attempt;
  end_ = Clock::now() + std::chrono::milliseconds(work.plan.timeout_ms + work.options.grace_ms) +
         kBeyondPlan;
  ExecutionPlan plan = work.plan;
  plan.arena = 0;
  const bool sent = send(RemoteKind::Begin, encode_begin({work.options, work.module.key})) &&
                    send_inputs(work) && send(RemoteKind::Execute, encode_plan(plan));
  Outcome outcome = sent ? wait(work) : std::nullopt;
  if (outcome) return outcome;
  // It may still be busy, or sends data that was not requested, so its connection is closed.
  member_->mailbox->close();
  registry_->lose(member_);
  if (cancelled_end_ != Clock::time_point::max()) {
    return Result<ExecutionReport>(
        error(ErrorCode::Cancelled, "the worker {} was given up: the case was cancelled", name()));
  }
  registry_->count_loss(member_);
  return std::nullopt;
}

}  // namespace

std::unique_ptr<RemoteWorker> lend(std::shared_ptr<RemoteRegistry> registry,
                                   std::shared_ptr<RemoteRegistry::Member> member) {
  return std::make_unique<LentWorker>(std::move(registry), std::move(member));
}

}  // namespace gpuemu
