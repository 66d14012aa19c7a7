#include "daemon/tapes/executor.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "common/protocol/wire_errors.h"
#include "daemon/tapes/tape_ops.h"

namespace gpuemu {
namespace {

/// Values that `fetch` brought to the host and nobody has asked for, of all sessions.
constexpr uint64_t kFetchedBytesMax = uint64_t{256} << 20;
/// Bytes of the attributes that are kept to make leaves again, of all sessions.
constexpr uint64_t kAttrsBytesMax = uint64_t{256} << 20;

FailurePtr failure_of(const Error& error) {
  const bool is_full = error.code == ErrorCode::ResourceExhausted;
  return std::make_shared<const TapeFailure>(
      is_full ? WireErrorCode::LimitExceeded : wire_code_of(error.code), error.message);
}

template <typename T>
std::shared_ptr<const T> shared(T value) {
  return std::make_shared<const T>(std::move(value));
}

}  // namespace

TapeExecutor::TapeExecutor(std::shared_ptr<TapeHosts> hosts, size_t devices, uint64_t seed,
                           size_t kept_max, TapeTape tape)
    : hosts_(std::move(hosts)),
      seed_(seed),
      kept_max_(kept_max),
      tape_(std::move(tape)),
      devices_(devices),
      queues_(devices + 1) {}

TapeExecutor::~TapeExecutor() {
  stop();
  for (std::thread& one : threads_) one.join();
}

void TapeExecutor::stop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

Status TapeExecutor::begin() {
  try {
    for (size_t i = 0; i < queues_.size(); ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (const std::system_error& refused) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread for the devices: {}",
                 refused.what());
  }
  return ok_status();
}

TapeExecutor::Held* TapeExecutor::find(uint64_t number) {
  const auto found = tensors_.find(number);
  return found == tensors_.end() ? nullptr : &found->second;
}

void TapeExecutor::declare(uint64_t number, std::shared_ptr<TapeOwner> owner, Shape shape,
                           DType dtype) {
  const std::lock_guard lock(mutex_);
  tensors_[number] = {.owner = std::move(owner), .shape = std::move(shape), .dtype = dtype};
}

void TapeExecutor::start(TapeTask task) {
  const std::lock_guard lock(mutex_);
  const uint64_t pos = task.line.pos;
  Pending& added = pending_[pos];
  added.task = std::move(task);
  for (const uint64_t needed : note_use(added.task)) {
    const auto found = pending_.find(needed);
    if (found == pending_.end()) continue;
    found->second.followers.push_back(pos);
    ++added.missing;
  }
  if (added.missing == 0) make_ready(added);
}

/// What the line has to wait for: `needs` leaves out what has ended in estimated time, which may go
/// on here. REQUIRES: mutex_ is held.
std::set<uint64_t> TapeExecutor::note_use(const TapeTask& task) {
  const tape::Kind kind = task.line.kind;
  const bool takes =
      kind == tape::Kind::Spill || kind == tape::Kind::Free || kind == tape::Kind::Load;
  std::set<uint64_t> needed(task.line.needs.begin(), task.line.needs.end());
  std::vector<uint64_t> tensors = task.inputs;
  tensors.push_back(task.tensor);
  for (const uint64_t number : tensors) {
    auto& uses = uses_[number];
    for (const auto& [pos, other_takes] : uses) {
      if ((takes || other_takes) && pos != task.line.pos) needed.insert(pos);
    }
    uses[task.line.pos] = takes;
  }
  return needed;
}

/// REQUIRES: mutex_ is held.
void TapeExecutor::end_use(const TapeTask& task) {
  std::vector<uint64_t> tensors = task.inputs;
  tensors.push_back(task.tensor);
  for (const uint64_t number : tensors) {
    const auto found = uses_.find(number);
    if (found == uses_.end()) continue;
    found->second.erase(task.line.pos);
    if (found->second.empty()) uses_.erase(found);
  }
}

/// REQUIRES: mutex_ is held.
void TapeExecutor::make_ready(const Pending& pending) {
  const tape::Queued& line = pending.task.line;
  queues_[line.device ? *line.device : devices_.size()].insert(line.pos);
  changed_.notify_all();
}

size_t TapeExecutor::outstanding() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

/// REQUIRES: mutex_ is held.
void TapeExecutor::set_failed(uint64_t number, Held& held, FailurePtr failure) {
  held.failure = std::move(failure);
  failed_.push_back(number);
  changed_.notify_all();
  while (failed_.size() > kept_max_) {
    const Held* const oldest = find(failed_.front());
    if (oldest != nullptr && oldest->fetched != nullptr) fetched_bytes_ -= oldest->fetched->size();
    tensors_.erase(failed_.front());
    failed_.pop_front();
  }
}

void TapeExecutor::fail(uint64_t number, FailurePtr failure) {
  const std::lock_guard lock(mutex_);
  Held* const held = find(number);
  if (held != nullptr) set_failed(number, *held, std::move(failure));
}

void TapeExecutor::abandon(const TapeOwner& owner) {
  std::vector<Held> gone;  // Freeing waits for what runs on the device: not with the lock held.
  {
    const std::lock_guard abandoning(mutex_);
    for (auto one = tensors_.begin(); one != tensors_.end();) {
      if (one->second.owner.get() != &owner) {
        ++one;
        continue;
      }
      if (one->second.fetched != nullptr) fetched_bytes_ -= one->second.fetched->size();
      gone.push_back(std::move(one->second));
      one = tensors_.erase(one);
    }
    std::erase_if(fetched_, [&](uint64_t number) { return find(number) == nullptr; });
    std::erase_if(failed_, [&](uint64_t number) { return find(number) == nullptr; });
  }
  gone.clear();
  const std::lock_guard lock(mutex_);
  ++frees_;
  changed_.notify_all();
}

TapeExecutor::Condition TapeExecutor::condition(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(number);
  if (found == tensors_.end()) return Condition::Unknown;
  if (found->second.is_lost) return Condition::Lost;
  if (found->second.failure != nullptr) return Condition::Failed;
  return found->second.is_produced ? Condition::Produced : Condition::Pending;
}

/// False when there will be none. A device that has nothing to do gives back what was freed.
/// `flushed`: the frees_ at which it last did so.
bool TapeExecutor::wait_for_work(size_t queue, uint64_t& flushed,
                                 std::unique_lock<std::mutex>& lock) {
  for (;;) {
    changed_.wait(lock,
                  [&] { return is_stopping_ || !queues_[queue].empty() || frees_ != flushed; });
    if (is_stopping_) return false;
    if (!queues_[queue].empty()) return true;
    flushed = frees_;
    const auto device = queue < devices_.size() ? devices_[queue] : nullptr;
    if (device == nullptr) continue;
    lock.unlock();
    device->flush();
    lock.lock();
  }
}

void TapeExecutor::serve(size_t queue) {
  uint64_t flushed = 0;
  std::unique_lock lock(mutex_);
  while (wait_for_work(queue, flushed, lock)) {
    const uint64_t pos = *queues_[queue].begin();
    queues_[queue].erase(pos);
    TapeTask task = std::move(pending_[pos].task);
    lock.unlock();
    Outcome outcome = execute_until_done(task);
    std::vector<DeviceCopy> released;
    lock.lock();
    settle(task, outcome, released);
    end_use(task);
    const auto done = pending_.extract(pos);
    for (const uint64_t follower : done.mapped().followers) {
      Pending& next = pending_.at(follower);
      if (--next.missing == 0) make_ready(next);
    }
    changed_.notify_all();
    lock.unlock();
    // The copy is still there where the session ended meanwhile.
    const bool frees = !released.empty() || outcome.copy != nullptr;
    released.clear();
    outcome.copy.reset();
    tape_.ended(task, outcome.failure);
    lock.lock();
    if (frees) {
      ++frees_;
      changed_.notify_all();
    }
  }
}

TapeExecutor::Outcome TapeExecutor::failed(const Error& error, const std::string& what) {
  return {.failure = failure_of(error.with_context(what)),
          .is_unavailable = error.code == ErrorCode::Unavailable};
}

TapeExecutor::Outcome TapeExecutor::execute(const TapeTask& task) {
  if (task.owner->is_over) return {};
  switch (task.line.kind) {
    case tape::Kind::Run: {
      const auto begin = std::chrono::steady_clock::now();
      Outcome made = run(task);
      task.owner->lanes->add_used(std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - begin));
      return made;
    }
    case tape::Kind::Move:
    case tape::Kind::Load:
      return copy_in(task);
    case tape::Kind::Spill:
    case tape::Kind::Fetch:
      return copy_out(task);
    case tape::Kind::Free:
      return {};
  }
  GPUEMU_UNREACHABLE();
}

TapeExecutor::Outcome TapeExecutor::run(const TapeTask& task) {
  const uint32_t place = *task.line.device;
  std::shared_ptr<TapeDevice> device;
  std::vector<TapeDevice::Operand> inputs;
  {
    const std::lock_guard lock(mutex_);
    device = devices_[place];
    for (const uint64_t number : task.inputs) {
      const Held* const held = find(number);
      if (held == nullptr) return {};  // Its owner is over.
      if (held->failure != nullptr) return {.failure = held->failure};
      inputs.push_back({held->shape, held->dtype, held->copies.at(place)});
    }
  }
  if (auto used_up = task.owner->lanes->time_used_up()) {
    return {.failure = shared(TapeFailure{WireErrorCode::LimitExceeded, *std::move(used_up)})};
  }
  auto made = device->run(*task.entry, seed_, inputs);
  if (!made) return failed(made.error(), fmt::format("{} = {}", task.entry->id, task.entry->op));
  keep_attrs(task);
  return {.put = place, .copy = *std::move(made)};
}

/// Keeps the attributes that the tape does not: the leaf may have to be made again.
void TapeExecutor::keep_attrs(const TapeTask& task) {
  const std::string& attrs = task.entry->attrs;
  if (!task.keeps_attrs || attrs_bytes_ + attrs.size() > kAttrsBytesMax) return;
  auto kept = std::make_shared<const KeptText>(attrs, attrs_bytes_);
  const std::lock_guard lock(mutex_);
  Held* const held = find(task.tensor);
  if (held != nullptr) held->attrs = std::move(kept);
}

/// A move or a load.
TapeExecutor::Outcome TapeExecutor::copy_in(const TapeTask& task) {
  const uint32_t place = *task.line.device;
  HostCopy values;
  DeviceCopy source;
  std::shared_ptr<TapeDevice> device;
  {
    const std::lock_guard lock(mutex_);
    device = devices_[place];
    const Held* const held = find(task.tensor);
    if (held == nullptr || held->failure != nullptr) return {};
    values = held->host;
    if (task.line.kind == tape::Kind::Move) source = held->copies.at(*task.line.from);
  }
  if (source != nullptr) {
    auto read = source->download();
    if (!read) return failed(read.error(), task.line.id);
    values = shared(*std::move(read));
  }
  auto made = device->upload(*values, task.line.id);
  if (!made) return failed(made.error(), task.line.id);
  return {.put = place, .copy = *std::move(made)};
}

/// A spill or a fetch.
TapeExecutor::Outcome TapeExecutor::copy_out(const TapeTask& task) {
  const bool is_fetch = task.line.kind == tape::Kind::Fetch;
  DeviceCopy source;
  HostCopy values;
  {
    const std::lock_guard lock(mutex_);
    const Held* const held = find(task.tensor);
    if (held == nullptr) return {};
    if (held->failure != nullptr) return {.failure = held->failure};
    values = held->host;
    if (task.line.device) source = held->copies.at(*task.line.device);
  }
  if (source != nullptr) {
    auto read = source->download();
    if (!read) return failed(read.error(), task.line.id);
    values = shared(*std::move(read));
  }
  if (is_fetch) return {.fetched = std::move(values)};
  return {.host = std::move(values)};
}

/// REQUIRES: mutex_ is held.
void TapeExecutor::keep_fetched(uint64_t number, Held& held, HostCopy values) {
  if (held.fetched != nullptr) return;
  fetched_bytes_ += values->size();
  held.fetched = std::move(values);
  fetched_.push_back(number);
  const auto is_over = [&] {
    return fetched_bytes_ > kFetchedBytesMax || fetched_.size() > kept_max_;
  };
  while (is_over() && fetched_.size() > 1) {
    Held* const oldest = find(fetched_.front());
    if (oldest != nullptr) {
      fetched_bytes_ -= oldest->fetched->size();
      oldest->fetched.reset();
      if (oldest->copies.empty() && oldest->host == nullptr) tensors_.erase(fetched_.front());
    }
    fetched_.pop_front();
  }
}

/// Notes what the line has done. REQUIRES: mutex_ is held; nobody destroys device memory then.
void TapeExecutor::settle(const TapeTask& task, Outcome& outcome,
                          std::vector<DeviceCopy>& released) {
  Held* const held = find(task.tensor);
  if (held == nullptr) return;
  const tape::Queued& line = task.line;
  if (outcome.failure != nullptr) {
    const bool is_new = held->failure == nullptr && line.kind != tape::Kind::Fetch;
    if (is_new) set_failed(task.tensor, *held, outcome.failure);
    return;
  }
  if (outcome.put) {
    held->copies[*outcome.put] = std::move(outcome.copy);
    held->is_produced = true;
    if (line.kind == tape::Kind::Load) held->host.reset();
  }
  if (outcome.fetched != nullptr) keep_fetched(task.tensor, *held, std::move(outcome.fetched));
  if (outcome.host != nullptr) held->host = std::move(outcome.host);
  if (line.kind != tape::Kind::Spill && line.kind != tape::Kind::Free) return;
  for (auto copy = held->copies.begin(); copy != held->copies.end();) {
    const bool goes = !line.device || *line.device == copy->first;
    if (goes) released.push_back(std::move(copy->second));
    copy = goes ? held->copies.erase(copy) : std::next(copy);
  }
  if (line.kind != tape::Kind::Free || line.device) return;
  held->host.reset();
  if (held->fetched == nullptr && held->failure == nullptr) tensors_.erase(task.tensor);
}

/// What the values can be read from, once they are there.
TapeExecutor::Fetched TapeExecutor::wait_for(uint64_t number, const TapeOwner& owner,
                                             FetchSource& from) {
  const auto gone = [](ErrorCode code) { return Fetched{error(code, "it is gone"), nullptr}; };
  std::unique_lock lock(mutex_);
  Held* held = nullptr;
  changed_.wait(lock, [&] {
    held = find(number);
    return is_stopping_ || owner.is_over || held == nullptr || held->failure != nullptr ||
           held->is_produced;
  });
  if (is_stopping_ || owner.is_over) return gone(ErrorCode::Cancelled);
  if (held == nullptr) return gone(ErrorCode::NotFound);
  if (held->failure != nullptr) return {Tensor{}, held->failure};
  from.host = held->fetched != nullptr ? held->fetched : held->host;
  if (from.host == nullptr) {
    if (held->copies.empty()) return gone(ErrorCode::NotFound);
    const auto current = std::ranges::find_if(
        held->copies, [&](const auto& one) { return is_current(one.first, *one.second); });
    const auto chosen = current == held->copies.end() ? held->copies.begin() : current;
    from.place = chosen->first;
    from.copy = chosen->second;
  }
  Tensor tensor;
  tensor.dtype = held->dtype;
  tensor.shape = held->shape;
  return {std::move(tensor), nullptr};
}

TapeExecutor::Fetched TapeExecutor::fetch(uint64_t number, const TapeOwner& owner) {
  const auto over = [&] { return is_stopping_ || owner.is_over; };
  std::vector<std::string> lost;
  for (;;) {
    FetchSource from;
    Fetched found = wait_for(number, owner, from);
    if (!found.tensor || found.failure != nullptr) return found;
    if (from.copy == nullptr) {
      found.tensor->data = *from.host;
      return found;
    }
    TapeDevice& device = from.copy->device();
    const bool was_there = !device.is_lost();
    auto read = from.copy->download();
    if (read) {
      found.tensor->data = *std::move(read);
      return found;
    }
    const bool was_lost = read.error().code == ErrorCode::Unavailable && is_stale(from);
    if (!was_lost) return {Tensor{}, failure_of(read.error())};
    if (was_there && device.was_lost_by_caller()) lost.push_back(device.worker_id());
    if (auto failure = too_many_lost(lost, "to fetch it")) return {Tensor{}, std::move(failure)};
    const Status mended = mend(from.place, over);
    if (!mended && over()) return {mended.error(), nullptr};
    if (!mended) return {Tensor{}, failure_of(mended.error())};
  }
}

bool TapeExecutor::is_stale(const FetchSource& from) const {
  const std::lock_guard lock(mutex_);
  return !is_current(from.place, *from.copy);
}

}  // namespace gpuemu
