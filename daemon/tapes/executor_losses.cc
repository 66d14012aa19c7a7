// Devices that are lost: others take their places, and what they held is made again.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/ranges.h>

#include "daemon/tapes/executor.h"

namespace gpuemu {
namespace {

/// What so many workers were lost with fails: it may be the cause.
constexpr size_t kLossesMax = 2;
/// A line fails after so many workers in a row were lost before they got its request.
constexpr int kUnreachedMax = 16;
/// The highest attempt that a line is given.
constexpr uint32_t kAttemptsMax = 2;
/// Rounds of mending beyond one for each device: more may be lost meanwhile.
constexpr size_t kMendsMax = 3;
/// A thread that waits for another one's mending checks so often whether it still has to.
constexpr std::chrono::milliseconds kMendingLook{5};

/// "c = add", or what is done with the tensor: "c: move".
std::string what_of(const TapeTask& task) {
  if (task.entry && task.line.kind == tape::Kind::Run) {
    return fmt::format("{} = {}", task.entry->id, task.entry->op);
  }
  return fmt::format("{}: {}", task.line.id, tape::name_of(task.line.kind));
}

}  // namespace

/// Tensors to make again, each after its inputs.
struct TapeExecutor::Remaking {
  std::vector<uint64_t> order;
  std::map<uint64_t, TapeRecipe> recipes;
  std::map<uint64_t, size_t> readers;  ///< How many of them are still to come.
  std::map<uint64_t, DeviceCopy> made;
};

std::shared_ptr<TapeDevice> TapeExecutor::device_at(uint32_t place) const {
  const std::lock_guard lock(mutex_);
  return devices_[place];
}

/// REQUIRES: mutex_ is held.
bool TapeExecutor::is_current(uint32_t place, const DeviceBytes& copy) const {
  return &copy.device() == devices_[place].get() && !copy.device().is_lost();
}

/// Whether the device at this place can be used.
bool TapeExecutor::is_fit(uint32_t place) const {
  const auto device = device_at(place);
  return device != nullptr && !device->is_lost() && !hosts_->has_better(*device);
}

/// Whether a device or a copy that the line uses is lost.
bool TapeExecutor::was_lost(const TapeTask& task) const {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> tensors = task.inputs;
  tensors.push_back(task.tensor);
  for (const auto& place : {task.line.device, task.line.from}) {
    if (!place) continue;
    if (devices_[*place] == nullptr || devices_[*place]->is_lost()) return true;
    for (const uint64_t number : tensors) {
      const auto held = tensors_.find(number);
      if (held == tensors_.end()) continue;
      const auto copy = held->second.copies.find(*place);
      if (copy != held->second.copies.end() && !is_current(*place, *copy->second)) return true;
    }
  }
  return false;
}

/// Tensors and places of copies that are lost, the first on the tape first.
std::vector<std::pair<uint64_t, uint32_t>> TapeExecutor::stale_copies() const {
  std::vector<std::pair<uint64_t, uint32_t>> stale;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, held] : tensors_) {
    for (const auto& [place, copy] : held.copies) {
      if (!is_current(place, *copy)) stale.emplace_back(number, place);
    }
  }
  return stale;
}

/// REQUIRES: mending_ is held.
Status TapeExecutor::reopen(uint32_t place, const Ended& ended) {
  if (is_fit(place)) return ok_status();
  auto opened = GPUEMU_TRY(hosts_->open(place, ended));
  const std::lock_guard lock(mutex_);
  devices_[place] = std::move(opened);
  return ok_status();
}

/// Takes mending_. Whoever holds it may wait long for a worker: Cancelled when `ended()` is true
/// before.
Result<std::unique_lock<std::mutex>> TapeExecutor::begin_mending(const Ended& ended) {
  std::unique_lock lock(mending_, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (ended()) return error(ErrorCode::Cancelled, "it ended while another op waits for a device");
    std::this_thread::sleep_for(kMendingLook);
    (void)lock.try_lock();
  }
  return Result<std::unique_lock<std::mutex>>(std::move(lock));
}

/// Opens the device at this place and those that were lost, and makes again what was there.
Status TapeExecutor::mend(uint32_t place, const Ended& ended) {
  const auto mending = GPUEMU_TRY(begin_mending(ended));
  ++losses_;
  std::map<uint64_t, std::string> why;  // By tensor.
  for (size_t i = 0; i < queues_.size() + kMendsMax; ++i) {
    GPUEMU_TRY(reopen(place, ended));
    for (uint32_t other = 0; other + 1 < queues_.size(); ++other) {
      const auto device = device_at(other);
      if (device != nullptr && device->is_lost()) GPUEMU_TRY(reopen(other, ended));
    }
    // What a tensor is made of comes before it, wherever it is.
    for (const auto& [number, at] : stale_copies()) {
      const Status restored = restore(number, at);
      // Another device may have gone meanwhile, which the next round finds.
      if (!restored) why[number] = restored.error().message;
    }
    if (stale_copies().empty()) return ok_status();
  }
  for (const auto& [number, at] : stale_copies()) lose(number, at, why[number]);
  return ok_status();
}

void TapeExecutor::mend() {
  for (uint32_t place = 0; place + 1 < queues_.size(); ++place) {
    const auto device = device_at(place);
    // If no worker is free, or another thread opens it, the op that needs it waits.
    if (device != nullptr && device->is_lost()) (void)mend(place, [] { return true; }).ok();
  }
}

std::vector<std::string> TapeExecutor::worker_ids() const {
  std::vector<std::string> ids;
  const std::lock_guard lock(mutex_);
  for (const auto& one : devices_) ids.push_back(one == nullptr ? "" : one->worker_id());
  return ids;
}

Status TapeExecutor::mend_of(const TapeTask& task) {
  const auto ended = [&] { return is_stopping_ || task.owner->is_over; };
  for (const auto& place : {task.line.from, task.line.device}) {
    if (place) GPUEMU_TRY(mend(*place, ended));
  }
  return ok_status();
}

/// The devices that the line uses and that are there.
std::vector<std::shared_ptr<TapeDevice>> TapeExecutor::devices_of(const TapeTask& task) const {
  std::vector<std::shared_ptr<TapeDevice>> used;
  for (const auto& place : {task.line.device, task.line.from}) {
    auto device = place ? device_at(*place) : nullptr;
    if (device != nullptr && !device->is_lost()) used.push_back(std::move(device));
  }
  return used;
}

/// Why what lost these workers fails; null while it may be tried again.
FailurePtr TapeExecutor::too_many_lost(const std::vector<std::string>& lost,
                                       const std::string& what) {
  if (lost.size() < kLossesMax) return nullptr;
  return failed(error(ErrorCode::Unavailable,
                      "WorkerLost: the workers {} were lost with it; it is not tried again",
                      fmt::join(lost, " and ")),
                what)
      .failure;
}

/// Why a line fails whose request no worker has got; null while it may be tried again.
FailurePtr TapeExecutor::too_many_unreached(int unreached, const TapeTask& task) {
  if (unreached < kUnreachedMax) return nullptr;
  const std::string device = task.line.device ? fmt::format("{}", *task.line.device) : "host";
  return failed(
             error(ErrorCode::Unavailable,
                   "WorkerLost: {} workers in a row were lost before they got it (device {}); it "
                   "is not tried again. `gpuemu status` lists the workers, daemon.log says why "
                   "each was lost",
                   unreached, device),
             what_of(task))
      .failure;
}

/// As execute(), again where a device was lost meanwhile.
TapeExecutor::Outcome TapeExecutor::execute_until_done(const TapeTask& task) {
  std::vector<std::string> lost;
  int unreached = 0;
  const auto& place = task.line.device;
  const bool needs_device = place && task.line.kind != tape::Kind::Free;
  while (!task.owner->is_over) {
    if (needs_device && !is_fit(*place)) {
      const Status mended = mend_of(task);
      if (!mended && task.owner->is_over) return {};
      if (!mended) return failed(mended.error(), task.line.id);
    }
    const auto used = devices_of(task);
    Outcome outcome = execute(task);
    if (!outcome.is_unavailable || !was_lost(task)) return outcome;
    const size_t before = lost.size();
    for (const auto& device : used) {
      if (device->was_lost_by_caller()) lost.push_back(device->worker_id());
    }
    if (auto failure = too_many_lost(lost, what_of(task))) return {.failure = std::move(failure)};
    unreached = lost.size() == before ? unreached + 1 : 0;
    if (auto failure = too_many_unreached(unreached, task)) return {.failure = std::move(failure)};
    const Status mended = mend_of(task);
    if (!mended && task.owner->is_over) return {};
    if (!mended) return failed(mended.error(), task.line.id);
    if (lost.size() == before || task.line.kind != tape::Kind::Run) continue;
    const std::lock_guard mending(mending_);
    note_attempt({.kind = task.line.kind, .device = place}, task.tensor);
  }
  return {};
}

/// What a tensor can be copied from; nothing where it is nowhere.
std::optional<TapeExecutor::Source> TapeExecutor::source_of(uint64_t number, uint32_t place) const {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(number);
  if (found == tensors_.end()) return std::nullopt;
  const Held& held = found->second;
  const auto here = held.copies.find(place);
  // A device that gives its place to a better one has it still.
  if (here != held.copies.end() && !here->second->device().is_lost()) {
    return Source{here->second, std::nullopt, nullptr};
  }
  for (const auto& [other, copy] : held.copies) {
    if (is_current(other, *copy)) return Source{copy, other, nullptr};
  }
  const HostCopy& host = held.host != nullptr ? held.host : held.fetched;
  if (host == nullptr) return std::nullopt;
  return Source{nullptr, std::nullopt, host};
}

/// Copies it to the device at this place. REQUIRES: mending_ is held.
Result<DeviceCopy> TapeExecutor::bring(uint64_t number, uint32_t place, const Source& source) {
  const auto device = device_at(place);
  if (source.copy != nullptr && &source.copy->device() == device.get()) return source.copy;
  const std::string name = fmt::format("tensor {}", number);
  if (source.copy == nullptr) {
    DeviceCopy loaded = GPUEMU_TRY(device->upload(*source.host, name));
    note_attempt({.kind = tape::Kind::Load, .device = place, .bytes = source.host->size()}, number);
    return loaded;
  }
  const std::vector<std::byte> values = GPUEMU_TRY(source.copy->download());
  DeviceCopy moved = GPUEMU_TRY(device->upload(values, name));
  if (source.from) {
    note_attempt(
        {.kind = tape::Kind::Move, .device = place, .from = source.from, .bytes = values.size()},
        number);
  }
  return moved;
}

/// REQUIRES: mending_ is held.
Status TapeExecutor::restore(uint64_t number, uint32_t place) {
  const auto source = source_of(number, place);
  DeviceCopy made =
      source ? GPUEMU_TRY(bring(number, place, *source)) : GPUEMU_TRY(remake(number, place));
  DeviceCopy before;
  const std::lock_guard lock(mutex_);
  Held* const held = find(number);
  if (held == nullptr) return ok_status();
  const auto copy = held->copies.find(place);
  if (copy == held->copies.end()) return ok_status();  // It was freed there meanwhile.
  before = std::exchange(copy->second, std::move(made));
  return ok_status();
}

std::optional<TapeRecipe> TapeExecutor::recipe_of(uint64_t number) {
  auto recipe = tape_.recipe(number);
  if (!recipe) return recipe;
  const std::lock_guard lock(mutex_);
  const Held* const held = find(number);
  if (held != nullptr && held->attrs != nullptr) recipe->entry.attrs = held->attrs->text;
  // The tape keeps only the size of long data.
  const bool lacks_data =
      recipe->entry.op == tape::kTensor && recipe->entry.attrs.starts_with(R"({"data_bytes")");
  return lacks_data ? std::nullopt : recipe;
}

Result<TapeExecutor::Remaking> TapeExecutor::plan_remaking(uint64_t number, uint32_t place) {
  Remaking work;
  struct Step {
    uint64_t number = 0;
    bool is_open = false;  ///< What it is made of comes before it.
  };
  std::vector<Step> steps = {{number, false}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    if (step.is_open) {
      work.order.push_back(step.number);
      continue;
    }
    const bool is_there = step.number != number && source_of(step.number, place).has_value();
    if (is_there || work.recipes.contains(step.number)) continue;
    auto recipe = recipe_of(step.number);
    if (!recipe) {
      return error(ErrorCode::NotFound, "the tape no longer has the entry that made it");
    }
    steps.push_back({step.number, true});
    for (const uint64_t input : recipe->inputs) {
      ++work.readers[input];
      steps.push_back({input, false});
    }
    work.recipes[step.number] = *std::move(recipe);
  }
  return work;
}

/// REQUIRES: mending_ is held.
Result<DeviceCopy> TapeExecutor::make_again(const TapeRecipe& recipe, uint64_t number,
                                            uint32_t place, Remaking& work) {
  std::vector<TapeDevice::Operand> inputs;
  for (const uint64_t input : recipe.inputs) {
    DeviceCopy& copy = work.made[input];
    if (copy == nullptr) {
      const auto source = source_of(input, place);
      if (!source) return error(ErrorCode::NotFound, "an input went meanwhile");
      copy = GPUEMU_TRY(bring(input, place, *source));
    }
    const std::lock_guard lock(mutex_);
    const Held* const held = find(input);
    const auto& from = work.recipes.find(input);
    const bool is_remade = from != work.recipes.end();
    if (held == nullptr && !is_remade) {
      return error(ErrorCode::NotFound, "an input went meanwhile");
    }
    inputs.push_back({is_remade ? from->second.entry.shape : held->shape,
                      is_remade ? from->second.entry.dtype : held->dtype, copy});
  }
  std::vector<std::string>& lost = attempts_[number].lost;
  if (lost.size() >= kLossesMax) {
    return error(ErrorCode::NotFound,
                 "WorkerLost: the workers {} were lost while {} = {} was computed again; it is not "
                 "tried again",
                 fmt::join(lost, " and "), recipe.entry.id, recipe.entry.op);
  }
  const auto device = device_at(place);
  const bool was_lost = device->is_lost();
  auto made = device->run(recipe.entry, seed_, inputs);
  if (made) note_attempt({.kind = tape::Kind::Run, .device = place}, number);
  if (!made && !was_lost && device->was_lost_by_caller()) lost.push_back(device->worker_id());
  return made;
}

/// Runs the tape's entries that lead to the tensor. REQUIRES: mending_ is held.
Result<DeviceCopy> TapeExecutor::remake(uint64_t number, uint32_t place) {
  Remaking work = GPUEMU_TRY(plan_remaking(number, place));
  for (const uint64_t next : work.order) {
    const TapeRecipe& recipe = work.recipes.at(next);
    work.made[next] = GPUEMU_TRY(make_again(recipe, next, place, work));
    for (const uint64_t input : recipe.inputs) {
      if (--work.readers[input] > 0) continue;
      work.made.erase(input);
      if (!work.recipes.contains(input)) continue;
      note_attempt({.kind = tape::Kind::Free, .device = place}, input);
    }
  }
  return work.made.at(number);
}

/// Tells of a line that is done again; one attempt for all that a loss makes necessary. REQUIRES:
/// mending_ is held.
void TapeExecutor::note_attempt(tape::Queued line, uint64_t number) {
  Attempts& attempts = attempts_[number];
  if (attempts.last_loss != losses_) attempts.count = std::min(attempts.count + 1, kAttemptsMax);
  attempts.last_loss = losses_;
  line.attempt = attempts.count;
  tape_.repeated(line, number);
}

/// Notes that the tensor cannot be made again.
void TapeExecutor::lose(uint64_t number, uint32_t place, const std::string& why) {
  const auto recipe = tape_.recipe(number);
  const std::string name = recipe ? recipe->entry.id : fmt::format("{}", number);
  std::map<uint32_t, DeviceCopy> gone;
  const std::lock_guard lock(mutex_);
  Held* const held = find(number);
  if (held == nullptr || held->failure != nullptr) return;
  gone = std::exchange(held->copies, {});
  held->is_lost = true;
  set_failed(
      number, *held,
      std::make_shared<const TapeFailure>(
          WireErrorCode::NotFound,
          fmt::format("tensor '{}' was lost with the worker of device {}: {}", name, place, why)));
}

}  // namespace gpuemu
