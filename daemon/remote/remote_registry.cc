#include "daemon/remote/remote_registry.h"

#include <algorithm>

#include "common/base/clock.h"
#include "daemon/remote/device_info.h"
#include "daemon/remote/mailbox.h"
#include "daemon/remote/remote_tapes.h"
#include "daemon/remote/remote_work.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// How long a lost worker is listed, and how many of them.
constexpr std::chrono::minutes kLostListed{10};
constexpr size_t kLostMax = 64;

/// The emulator can be any architecture; a GPU also runs code for older ones.
bool fits(const DeviceInfo& device, const WorkerOptions& options) {
  if (device.backend != options.backend) return false;
  return !device_traits(options.backend).is_gpu || sm_of(device) >= options.sm;
}

RemoteWorkerInfo info_of_member(const RemoteRegistry::Member& member) {
  return {.worker_id = member.identity.worker_id,
          .host = member.identity.host,
          .state = member.state,
          .attempts = member.attempts,
          .lost = member.lost,
          .connected = member.since,
          .pid = member.identity.pid,
          .version = member.identity.version,
          .device = member.identity.device};
}

}  // namespace

RemoteRegistry::~RemoteRegistry() {
  for (const auto& [name, member] : members_) member->mailbox->close();
}

std::unique_ptr<RemoteWorker> RemoteRegistry::take(const WorkerOptions& options) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Member> chosen;
  for (const auto& [name, member] : members_) {
    if (member->state != WorkerState::Idle || !fits(member->identity.device, options)) continue;
    if (chosen == nullptr || member->attempts < chosen->attempts) chosen = member;
  }
  if (chosen == nullptr) return nullptr;
  chosen->state = WorkerState::Busy;
  return lend(shared_from_this(), chosen);
}

bool RemoteRegistry::has(const WorkerOptions& options) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      members_, [&](const auto& one) { return fits(one.second->identity.device, options); });
}

size_t RemoteRegistry::count(const WorkerOptions& options) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(
      members_, [&](const auto& one) { return fits(one.second->identity.device, options); }));
}

std::shared_ptr<TapeChannel> RemoteRegistry::tape_channel(const WorkerOptions& options,
                                                          size_t device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Member> chosen;
  for (const auto& [name, member] : members_) {
    if (member->state == WorkerState::Lost || !fits(member->identity.device, options)) continue;
    if (chosen == nullptr || member->tapes < chosen->tapes) chosen = member;
  }
  if (chosen == nullptr) return nullptr;
  ++chosen->tapes;
  return keep_tapes(shared_from_this(), chosen, options, device);
}

bool RemoteRegistry::occupy(const std::shared_ptr<Member>& member) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || member->state != WorkerState::Busy; });
  if (ended_ || member->state == WorkerState::Lost) return false;
  member->state = WorkerState::Busy;
  return true;
}

void RemoteRegistry::end_tape(const std::shared_ptr<Member>& member) {
  const std::lock_guard lock(mutex_);
  --member->tapes;
}

bool RemoteRegistry::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const uint64_t seen = changes_;
  changed_.wait_for(lock, most, [&] { return ended_ || changes_ != seen; });
  return !ended_;
}

void RemoteRegistry::shutdown() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool RemoteRegistry::is_empty() const {
  const std::lock_guard lock(mutex_);
  return members_.empty();
}

void RemoteRegistry::tell_change() {
  ++changes_;
  changed_.notify_all();
}

std::variant<std::shared_ptr<RemoteRegistry::Member>, std::string> RemoteRegistry::add(
    const RemoteIdentity& identity, std::shared_ptr<Mailbox> mailbox) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  auto& place = members_[identity.worker_id];
  if (place != nullptr) {
    const RemoteIdentity& there = place->identity;
    if (there.pid != identity.pid || there.host != identity.host) {
      const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - place->connected);
      return fmt::format("worker '{}' is connected from {} since {} s", identity.worker_id,
                         there.host, age.count());
    }
    place->mailbox->close();
    place->state = WorkerState::Lost;
  }
  auto member = std::make_shared<Member>();
  member->identity = identity;
  member->mailbox = std::move(mailbox);
  member->since = now_seconds();
  gone_.erase(identity.worker_id);
  place = member;
  tell_change();
  return member;
}

void RemoteRegistry::lose(const std::shared_ptr<Member>& member) {
  const std::lock_guard lock(mutex_);
  member->mailbox->close();
  member->state = WorkerState::Lost;
  member->ended = Clock::now();
  tell_change();
  const auto found = members_.find(member->identity.worker_id);
  if (found == members_.end() || found->second != member) return;  // Its process has reconnected.
  members_.erase(found);
  gone_[member->identity.worker_id] = member;
  std::erase_if(gone_,
                [](const auto& one) { return Clock::now() - one.second->ended > kLostListed; });
  while (gone_.size() > kLostMax) {
    gone_.erase(
        std::ranges::min_element(gone_, {}, [](const auto& one) { return one.second->ended; }));
  }
}

std::vector<RemoteWorkerInfo> RemoteRegistry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<RemoteWorkerInfo> all;
  for (const auto& [name, member] : members_) all.push_back(info_of_member(*member));
  for (const auto& [name, member] : gone_) {
    if (Clock::now() - member->ended <= kLostListed) all.push_back(info_of_member(*member));
  }
  std::ranges::sort(all, {}, &RemoteWorkerInfo::worker_id);
  return all;
}

void RemoteRegistry::give_back(const std::shared_ptr<Member>& member) {
  const std::lock_guard lock(mutex_);
  if (member->state == WorkerState::Busy) member->state = WorkerState::Idle;
  tell_change();
}

uint64_t RemoteRegistry::begin_attempt(const std::shared_ptr<Member>& member) {
  const std::lock_guard lock(mutex_);
  ++member->attempts;
  return ++last_work_;
}

void RemoteRegistry::count_loss(const std::shared_ptr<Member>& member) {
  const std::lock_guard lock(mutex_);
  ++member->lost;
}

}  // namespace gpuemu
