#include "daemon/tapes/tapes.h"

#include <algorithm>
#include <system_error>

#include <fmt/ranges.h>

#include "common/base/service_limits.h"
#include "common/protocol/wire_errors.h"

namespace gpuemu {
namespace {

using std::chrono::steady_clock;

/// Lines that devices may have before more are given to them, for each device: enough that none
/// waits for the scheduler, few enough that whoever comes later does not wait for all of them.
constexpr size_t kLeadPerDevice = 4;
/// Attributes of the tape beyond so many bytes, the data of a tensor, are kept until it is made.
constexpr size_t kAttrsBytesKept = size_t{64} << 10;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

std::unique_ptr<tape::Scheduler> new_scheduler(const TapeSettings& settings) {
  std::vector<tape::Device> devices;
  const size_t count = std::clamp<size_t>(settings.hosts->count(), 1, tape::kDevicesMax);
  for (uint32_t index = 0; index < count; ++index) {
    devices.push_back({.index = index,
                       .name = settings.names[index % settings.names.size()],
                       .worker_id = fmt::format("local-{}", index),
                       .memory_bytes = settings.memory_bytes});
  }
  return std::make_unique<tape::Scheduler>(tape::Settings{.devices = std::move(devices),
                                                          .seed = settings.seed,
                                                          .policy = settings.policy,
                                                          .entries_max = settings.entries_max});
}

/// 0 for a shape that no tensor has.
uint64_t wanted_bytes(const tape::Entry& entry) {
  const auto count = checked_element_count(entry.shape);
  return count ? static_cast<uint64_t>(*count) * byte_size(entry.dtype) : 0;
}

}  // namespace

Tapes::Tapes(TapeSettings settings)
    : settings_(std::move(settings)), scheduler_(new_scheduler(settings_)) {}

Tapes::~Tapes() {
  shutdown();
  if (driver_.joinable()) driver_.join();
  executor_.reset();
}

void Tapes::shutdown() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  if (executor_ != nullptr) executor_->stop();
  changed_.notify_all();
}

/// REQUIRES: mutex_ is held.
Status Tapes::open() {
  if (ops_ != nullptr) return ok_status();
  auto ops = std::make_unique<TapeOps>(GPUEMU_TRY(settings_.hosts->properties()));
  // Nothing is on it yet, and workers may have come or gone.
  scheduler_ = new_scheduler(settings_);
  executor_ = std::make_shared<TapeExecutor>(
      settings_.hosts, scheduler_->devices(), settings_.seed, settings_.entries_max,
      TapeTape{.ended = [this](const TapeTask& task,
                               const FailurePtr& failure) { ended(task, failure); },
               .recipe = [this](uint64_t number) { return recipe(number); },
               .repeated = [this](const tape::Queued& line,
                                  uint64_t tensor) { repeated(line, tensor); }});
  GPUEMU_TRY(executor_->begin());
  try {
    driver_ = std::thread([this] { drive(); });
  } catch (const std::system_error& refused) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread to schedule tapes: {}",
                 refused.what());
  }
  ops_ = std::move(ops);
  return ok_status();
}

/// REQUIRES: mutex_ is held.
Tapes::Taped& Tapes::taped(const TapeClient& client) {
  Taped& found = sessions_[client.number];
  if (found.owner != nullptr) return found;
  // A name may come again after its session; on the tape it stands for one alone.
  std::string name = client.lanes->name();
  for (int number = 2; labels_.contains(name); ++number) {
    name = fmt::format("{} #{}", client.lanes->name(), number);
  }
  found.owner = std::make_shared<TapeOwner>();
  found.owner->number = client.number;
  found.owner->name = name;
  found.owner->lanes = client.lanes;
  labels_[name] = {client.lanes->name(), client.user, found.owner};
  return found;
}

/// REQUIRES: mutex_ is held.
std::optional<ErrorReply> Tapes::memory_refusal(const TapeClient& client, const Taped& taped,
                                                const std::vector<tape::Entry>& entries) const {
  const uint64_t limit = client.lanes->memory_limit();
  if (limit == 0) return std::nullopt;
  const std::string& name = taped.owner->name;
  const uint64_t before = scheduler_->live_bytes(name);
  uint64_t live = before, most = before;
  std::map<std::string, uint64_t> made;
  for (const tape::Entry& entry : entries) {
    if (entry.makes_tensor()) {
      live += made[entry.id] = wanted_bytes(entry);
      most = std::max(most, live);
    } else if (entry.op == tape::kDrop && entry.inputs.size() == 1) {
      const tape::Known* const known = scheduler_->find(name, entry.inputs.front());
      const auto own = made.find(entry.inputs.front());
      const uint64_t bytes = own != made.end() ? own->second : known != nullptr ? known->bytes : 0;
      live -= std::min(live, bytes);
    }
  }
  if (most <= limit) return std::nullopt;
  return ErrorReply{WireErrorCode::LimitExceeded,
                    fmt::format("session {}: needs {} MiB, {} of {} MiB are free (memory_limit_mb)",
                                client.lanes->name(), (most - before + kMebibyte - 1) / kMebibyte,
                                (limit - std::min(limit, before)) / kMebibyte, limit / kMebibyte)};
}

/// REQUIRES: mutex_ is held.
std::optional<ErrorReply> Tapes::refusal(const TapeClient& client, const Taped& taped,
                                         const std::vector<tape::Entry>& entries) const {
  const uint64_t unfinished = taped.total - taped.done;
  const std::string& name = client.lanes->name();
  if (entries.size() > kTapeUnfinishedMax) {
    return ErrorReply{WireErrorCode::LimitExceeded,
                      fmt::format("session {}: {} entries in one request, at most {}; send them in "
                                  "parts",
                                  name, entries.size(), kTapeUnfinishedMax)};
  }
  if (unfinished + entries.size() > kTapeUnfinishedMax) {
    return busy_reply(
        fmt::format("session {}: {} of {} tape ops have not ended, {} more do not fit; "
                    "send again in {} ms",
                    name, unfinished, kTapeUnfinishedMax, entries.size(), kBusyRetry.count()));
  }
  if (auto used_up = client.lanes->time_used_up()) {
    return ErrorReply{WireErrorCode::LimitExceeded, *std::move(used_up)};
  }
  return memory_refusal(client, taped, entries);
}

/// REQUIRES: mutex_ is held.
void Tapes::keep_added(Taped& taped, uint64_t first, std::vector<tape::Entry> entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    tape::Entry& entry = entries[i];
    const uint64_t seq = first + i;
    ++taped.total;
    if (entry.op == tape::kDrop) {
      const uint64_t dropped = scheduler_->find(taped.owner->name, entry.inputs.front())->number;
      if (scheduler_->failure(dropped) == nullptr) {
        drops_[dropped] = taped.owner;
      } else {
        ++taped.done;  // There is nothing to free.
      }
      continue;
    }
    unfinished_[seq] = taped.owner;
    if (!entry.makes_tensor()) continue;
    executor_->declare(seq, taped.owner, entry.shape, entry.dtype);
    if (entry.attrs.size() <= kAttrsBytesKept) continue;
    scheduler_->set_attrs(seq, fmt::format(R"({{"data_bytes":{}}})", wanted_bytes(entry)));
    long_attrs_[seq] = std::move(entry.attrs);
  }
}

std::variant<TapeAcceptedReply, ErrorReply> Tapes::submit(const TapeClient& client,
                                                          const std::string& entries_json) {
  auto entries = tape::decode_entries(entries_json);
  if (!entries) return error_reply(entries.error());
  if (entries->empty()) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      "member 'entries' is empty, expected one or more entries of a tape"};
  }
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return ErrorReply{WireErrorCode::Stopped, "the daemon is being stopped"};
  const Status opened = open();
  if (!opened) return error_reply(opened.error());
  Taped& session = taped(client);
  if (session.owner->is_over) return session_ended_reply(client.lanes->name());
  if (auto refused = refusal(client, session, *entries)) return *std::move(refused);
  for (tape::Entry& entry : *entries) {
    entry.session = session.owner->name;
    entry.bytes.reset();
    entry.cost_us.reset();
    entry.at = 0;
  }
  const auto first = scheduler_->add(
      *entries, [&](const tape::Entry& entry, std::span<const tape::Known* const> inputs) {
        return ops_->check(entry, inputs);
      });
  if (!first) return error_reply(first.error());
  scheduler_->set_weight(session.owner->name, client.lanes->weight);
  const uint64_t count = entries->size();
  keep_added(session, *first, *std::move(entries));
  changed_.notify_all();
  return TapeAcceptedReply{*first, *first + count - 1};
}

TapeStatusReply Tapes::status(const TapeClient& client, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  TapeStatusReply reply;
  const auto look = [&] {
    const auto found = sessions_.find(client.number);
    if (found == sessions_.end()) return true;
    reply = {found->second.done, found->second.total, found->second.failed};
    return is_stopping_ || reply.done == reply.total;
  };
  changed_.wait_for(lock, wait, look);
  return reply;
}

std::variant<TensorReply, ErrorReply> Tapes::fetch(const TapeClient& client,
                                                   const std::string& id) {
  std::shared_ptr<TapeOwner> owner;
  const std::string name = client.lanes->name();
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto session = sessions_.find(client.number);
    const tape::Known* known = nullptr;
    if (session != sessions_.end()) {
      owner = session->second.owner;
      known = scheduler_->find(owner->name, id);
    }
    if (known == nullptr) {
      return ErrorReply{WireErrorCode::NotFound,
                        fmt::format("session {} has no tensor '{}' on its tape", name, id)};
    }
    number = known->number;
  }
  auto fetched = executor_->fetch(number, *owner);
  if (fetched.failure != nullptr) {
    return ErrorReply{fetched.failure->code, fetched.failure->message};
  }
  if (fetched.tensor) return TensorReply{*std::move(fetched.tensor)};
  if (owner->is_over) return session_ended_reply(name);
  if (fetched.tensor.error().code == ErrorCode::Cancelled) {
    return ErrorReply{WireErrorCode::Stopped, "the daemon is being stopped"};
  }
  return ErrorReply{WireErrorCode::NotFound,
                    fmt::format("session {} has dropped the tensor '{}'; put a fetch of it on the "
                                "tape before its drop",
                                name, id)};
}

void Tapes::end(uint64_t number) {
  std::shared_ptr<TapeOwner> owner;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(number);
    if (found == sessions_.end()) return;
    owner = found->second.owner;
    sessions_.erase(found);
    owner->is_over = true;
    std::vector<tape::Entry> drops;
    for (std::string& id : scheduler_->held(owner->name)) {
      drops.push_back({.session = owner->name,
                       .id = {},
                       .op = std::string(tape::kDrop),
                       .inputs = {std::move(id)}});
    }
    // The names are there and not dropped: nothing can be refused.
    if (!drops.empty()) (void)scheduler_->add(std::move(drops)).ok();
    changed_.notify_all();
  }
  executor_->abandon(*owner);
}

// What the driver's thread does.

/// REQUIRES: mutex_ is held, as of all that follow.
bool Tapes::may_step() const {
  return executor_->outstanding() < kLeadPerDevice * scheduler_->devices();
}

void Tapes::drive() {
  std::unique_lock lock(mutex_);
  auto next = steady_clock::now();
  while (!is_stopping_) {
    const auto now = steady_clock::now();
    if (now < next) {
      changed_.wait_until(lock, next);
      continue;
    }
    if (!may_step() || !scheduler_->step()) {
      changed_.wait(lock);
      continue;
    }
    next = now + settings_.tick;
    for (const uint64_t seq : scheduler_->refused()) {
      const auto found = unfinished_.find(seq);
      if (found == unfinished_.end()) continue;
      const tape::Failure* const why = scheduler_->failure(seq);
      executor_->fail(seq, std::make_shared<const TapeFailure>(WireErrorCode::LimitExceeded,
                                                               why == nullptr ? "" : why->reason));
      count_ended(*found->second, true);
      unfinished_.erase(found);
      long_attrs_.erase(seq);
      end_drop(seq);
    }
    for (const uint64_t pos : scheduler_->last_tick().started) start(pos);
    if (settings_.tick.count() > 0) tell_tick();
    changed_.notify_all();
  }
}

void Tapes::tell_tick() {
  const tape::Tick& tick = scheduler_->last_tick();
  if (!settings_.log) return;
  settings_.log(fmt::format("tick {} at {} us: starts [{}], ended [{}], {} wait", tick.tick,
                            tick.time_us, fmt::join(tick.started, ", "),
                            fmt::join(tick.ended, ", "), tick.waiting));
}

void Tapes::start(uint64_t pos) {
  const tape::Queued& line = scheduler_->queued(pos);
  TapeTask task{
      .line = line, .tensor = scheduler_->tensor_of(pos), .owner = labels_.at(line.session).owner};
  if (line.kind == tape::Kind::Run) {
    task.entry = scheduler_->entry(*line.seq);
    for (const std::string& id : task.entry->inputs) {
      task.inputs.push_back(scheduler_->find(line.session, id)->number);
    }
    const auto attrs = long_attrs_.extract(*line.seq);
    task.keeps_attrs = !attrs.empty();
    if (!attrs.empty()) task.entry->attrs = attrs.mapped();
  }
  executor_->start(std::move(task));
}

std::optional<TapeRecipe> Tapes::recipe(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (!scheduler_->keeps(number)) return std::nullopt;
  TapeRecipe recipe{scheduler_->entry(number), {}};
  for (const std::string& id : recipe.entry.inputs) {
    const tape::Known* const known = scheduler_->find(recipe.entry.session, id);
    if (known == nullptr) return std::nullopt;
    recipe.inputs.push_back(known->number);
  }
  return recipe;
}

void Tapes::repeated(const tape::Queued& line, uint64_t tensor) {
  const std::lock_guard lock(mutex_);
  if (scheduler_->keeps(tensor)) scheduler_->repeat(line, tensor);
}

void Tapes::count_ended(const TapeOwner& owner, bool has_failed) {
  const auto found = sessions_.find(owner.number);
  if (found == sessions_.end()) return;
  ++found->second.done;
  if (has_failed) ++found->second.failed;
}

void Tapes::end_drop(uint64_t tensor) {
  const auto found = drops_.find(tensor);
  if (found == drops_.end()) return;
  count_ended(*found->second, false);
  drops_.erase(found);
}

void Tapes::ended(const TapeTask& task, const FailurePtr& failure) {
  const std::lock_guard lock(mutex_);
  if (task.line.kind == tape::Kind::Free && !task.line.device) end_drop(task.tensor);
  const bool is_entry = task.line.kind == tape::Kind::Run || task.line.kind == tape::Kind::Fetch;
  if (is_entry) {
    count_ended(*task.owner, failure != nullptr);
    unfinished_.erase(*task.line.seq);
  }
  changed_.notify_all();
}

}  // namespace gpuemu
