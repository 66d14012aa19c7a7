#include "daemon/remote/mailbox.h"

namespace gpuemu {
namespace {

constexpr size_t kBoxBytes = size_t{8} << 20, kChannelBytes = size_t{2} << 20;

}  // namespace

bool Mailbox::send(const RemoteMessage& message) {
  std::vector<std::byte> bytes = encode_remote(message);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || out_bytes_ < kBoxBytes; });
    if (closed_) return false;
    out_bytes_ += bytes.size();
    out_.push_back(std::move(bytes));
  }
  wake_();
  return true;
}

std::optional<RemoteMessage> Mailbox::receive(std::chrono::steady_clock::time_point deadline) {
  std::optional<RemoteMessage> message;
  bool was_full = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return closed_ || !in_.empty(); });
    if (closed_ || in_.empty()) return message;
    was_full = in_bytes_ >= kBoxBytes;
    message = std::move(in_.front());
    in_.pop_front();
    in_bytes_ -= message->body.size();
  }
  if (was_full) wake_();
  return message;
}

bool Mailbox::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  in_.clear();
  out_.clear();
  changed_.notify_all();
}

bool Mailbox::has_room() const {
  const std::lock_guard lock(mutex_);
  return in_bytes_ < kBoxBytes;
}

bool Mailbox::has_output() const {
  const std::lock_guard lock(mutex_);
  return !out_.empty();
}

void Mailbox::move_output(TlsChannel& channel) {
  const std::lock_guard lock(mutex_);
  while (!out_.empty() && channel.queued_bytes() < kChannelBytes) {
    channel.send(out_.front());
    out_bytes_ -= out_.front().size();
    out_.pop_front();
  }
  changed_.notify_all();
}

void Mailbox::deliver(RemoteMessage message) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  in_bytes_ += message.body.size();
  in_.push_back(std::move(message));
  changed_.notify_all();
}

}  // namespace gpuemu
