// Places ready ops on devices, and adds the lines that bring their inputs and make room.
#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "runtime/tape/machine.h"

namespace gpuemu::tape {
namespace {

/// When a copy has more readers than this, those that have ended are removed.
constexpr size_t kReadersKept = 16;
/// Ops that may wait for memory in one tick; after that, no more are considered.
constexpr size_t kHeldBackMax = 32;

}  // namespace

double Scheduler::Machine::move_time(uint32_t device, uint64_t bytes) const {
  const Device& to = settings_.devices[device];
  return to.latency_us + static_cast<double>(bytes) / to.bytes_per_us;
}

uint64_t Scheduler::Machine::whole_move_time(uint32_t device, uint64_t bytes) const {
  return static_cast<uint64_t>(std::ceil(move_time(device, bytes)));
}

void Scheduler::Machine::place_ready() {
  std::vector<uint64_t> held_back;
  is_full_.assign(lanes_.size(), false);
  while (held_back.size() < kHeldBackMax && !active_.empty()) {
    SessionState& session = sessions_[active_.begin()->second];
    const uint64_t seq = *session.ready.begin();
    Op& op = ops_.at(seq);
    const auto cost = static_cast<double>(op.cost);
    remove_ready(session, seq);
    if (!place(op)) {
      held_back.push_back(seq);
      continue;
    }
    clock_ = session.used;
    if (!session.ready.empty()) active_.erase({session.used, session.number});
    session.used += cost / session.told.weight;
    if (!session.ready.empty()) active_.emplace(session.used, session.number);
  }
  for (const uint64_t seq : held_back) add_ready(sessions_[ops_.at(seq).session], seq);
}

bool Scheduler::Machine::place(Op& op) {
  if (op.does == Op::Does::Fetch) return place_fetch(op);
  uint64_t needed = op.bytes;
  for (const uint64_t number : op.inputs) needed += tensor(number).bytes;
  std::vector<uint32_t> able;
  for (uint32_t device = 0; device < lanes_.size(); ++device) {
    if (memory_.fits_alone(device, needed)) able.push_back(device);
  }
  if (able.empty()) {
    const auto largest = std::ranges::max_element(settings_.devices, {}, &Device::memory_bytes);
    fail(op, {op.seq,
              fmt::format("{} ({}) needs {} bytes for its inputs and output, the largest device "
                          "has {} (memory_bytes)",
                          entry(op.seq).id, entry(op.seq).op, needed, largest->memory_bytes)});
    return true;
  }
  const uint32_t device = device_for(op, able);
  if (is_full_[device] || !pin_inputs(op, device)) {
    is_full_[device] = true;
    return false;
  }
  if (op.does == Op::Does::Leaf) next_leaf_ = (device + 1) % lanes_.size();
  run(op, device);
  return true;
}

uint32_t Scheduler::Machine::device_for(const Op& op, const std::vector<uint32_t>& able) {
  if (op.does == Op::Does::Leaf) {
    const auto next = std::ranges::lower_bound(able, next_leaf_);
    return next == able.end() ? able.front() : *next;
  }
  if (settings_.policy == Policy::Balanced) return balanced_device(op, able);
  const bool is_planned = op.planned && std::ranges::binary_search(able, *op.planned);
  return is_planned ? *op.planned : device_with_most_input(op, able);
}

uint32_t Scheduler::Machine::balanced_device(const Op& op, const std::vector<uint32_t>& able) {
  struct Choice {
    uint32_t device = 0;
    double total = 0, move = 0;
    uint64_t moved = 0;
    bool precedes(const Choice& other) const {
      return total != other.total ? total < other.total : moved < other.moved;
    }
  };
  std::optional<Choice> best, resident;  // `resident`: the best of those that have all inputs.
  for (const uint32_t device : able) {
    Choice choice{.device = device};
    bool has_all = true;
    for (const uint64_t number : op.inputs) {
      TensorState& input = tensor(number);
      if (input.on(device) != nullptr) continue;
      has_all = false;
      choice.move += move_time(device, input.bytes);
      choice.moved += input.bytes;
    }
    choice.total = choice.move + static_cast<double>(lanes_[device].wait + op.cost);
    if (!best || choice.precedes(*best)) best = choice;
    if (has_all && (!resident || choice.precedes(*resident))) resident = choice;
  }
  if (!resident) return best->device;
  const auto gain = static_cast<double>(lanes_[resident->device].wait) - best->move;
  return gain > static_cast<double>(op.cost) ? best->device : resident->device;
}

uint32_t Scheduler::Machine::device_with_most_input(const Op& op,
                                                    const std::vector<uint32_t>& able) {
  uint32_t best = able.front();
  uint64_t most = 0;
  for (const uint32_t device : able) {
    uint64_t bytes = 0;
    for (const uint64_t number : op.inputs) {
      TensorState& input = tensor(number);
      if (input.on(device) != nullptr) bytes += input.bytes;
    }
    if (bytes > most) {
      most = bytes;
      best = device;
    }
  }
  return best;
}

bool Scheduler::Machine::pin_inputs(const Op& op, uint32_t device) {
  uint64_t missing = op.bytes;
  std::vector<TensorState*> pinned;
  for (const uint64_t number : op.inputs) {
    TensorState& input = tensor(number);
    if (input.on(device) == nullptr) {
      missing += input.bytes;
    } else {
      memory_.pin(input, device);
      pinned.push_back(&input);
    }
  }
  if (memory_.fits_now(device, missing)) {
    make_room(device, missing);
    return true;
  }
  for (TensorState* input : pinned) memory_.unpin(*input, device);
  return false;
}

void Scheduler::Machine::run(Op& op, uint32_t device) {
  for (const uint64_t number : op.inputs) {
    if (tensor(number).on(device) != nullptr) continue;
    bring(tensor(number), device);
    memory_.pin(tensor(number), device);
  }
  Line line{.told = {.kind = Kind::Run, .seq = op.seq, .device = device}, .cost = op.cost};
  for (const uint64_t number : op.inputs) {
    read(line, tensor(number), device);
    line.pinned.push_back({number, device});
  }
  TensorState& made = tensor(op.seq);
  need_released(line, device);
  memory_.add(made, device, queue_size());
  memory_.pin(made, device);
  line.pinned.push_back({op.seq, device});
  append(std::move(line), made);
  sessions_[op.session].told.device_us += op.cost;
  ++totals_.ops;
}

bool Scheduler::Machine::place_fetch(Op& op) {
  TensorState& wanted = tensor(op.inputs.front());
  Line line{.told = {.kind = Kind::Fetch, .seq = op.seq}, .cost = op.cost};
  if (wanted.copies.empty()) {
    line.told.needs.push_back(*wanted.host_writer);
    wanted.host_readers.push_back(queue_size());
  } else {
    const uint32_t device = shortest_queue(wanted);
    line.told.device = device;
    memory_.pin(wanted, device);
    line.pinned.push_back({wanted.number, device});
    read(line, wanted, device);
  }
  append(std::move(line), wanted);
  return true;
}

/// Returns the copy whose device has the least work. Requires a copy.
uint32_t Scheduler::Machine::shortest_queue(const TensorState& tensor) const {
  return std::ranges::min_element(tensor.copies, {},
                                  [&](const Copy& copy) { return lanes_[copy.device].length(); })
      ->device;
}

/// Requires Memory::fits_now().
void Scheduler::Machine::make_room(uint32_t device, uint64_t bytes) {
  while (!memory_.has_room(device, bytes)) {
    const auto victim = memory_.victim(device);
    GPUEMU_CHECK(victim.has_value());
    TensorState& leaving = tensor(victim->tensor);
    if (victim->is_spare) {
      append_free(leaving, device);
    } else {
      spill(leaving, device);
    }
  }
}

namespace {

/// Makes a line that removes a copy wait for the copy's writer and readers.
void need_all(std::vector<uint64_t>& needs, const Copy& copy) {
  needs.push_back(copy.writer);
  needs.insert(needs.end(), copy.readers.begin(), copy.readers.end());
}

}  // namespace

void Scheduler::Machine::spill(TensorState& leaving, uint32_t device) {
  Line line{.told = {.kind = Kind::Spill, .device = device, .bytes = leaving.bytes},
            .cost = whole_move_time(device, leaving.bytes)};
  need_all(line.told.needs, *leaving.on(device));
  memory_.remove(leaving, device);
  leaving.host_writer = queue_size();
  leaving.host_readers.clear();
  lanes_[device].released.push_back(queue_size());
  append(std::move(line), leaving);
  ++totals_.spills;
}

/// Appends the line that brings a copy to the device.
void Scheduler::Machine::bring(TensorState& input, uint32_t device) {
  Line line{.told = {.kind = Kind::Move, .device = device, .bytes = input.bytes},
            .cost = whole_move_time(device, input.bytes)};
  need_released(line, device);
  if (input.is_host()) {
    line.told.kind = Kind::Load;
    line.told.needs.push_back(*input.host_writer);
    line.told.needs.insert(line.told.needs.end(), input.host_readers.begin(),
                           input.host_readers.end());
    input.host_writer.reset();
  } else {
    const uint32_t from = shortest_queue(input);
    line.told.from = from;
    memory_.pin(input, from);
    line.pinned.push_back({input.number, from});
    read(line, input, from);
    ++totals_.moves;
    totals_.moved_bytes += input.bytes;
  }
  memory_.add(input, device, queue_size());
  memory_.pin(input, device);
  line.pinned.push_back({input.number, device});
  append(std::move(line), input);
}

/// With `device`, frees only the copy on that device.
void Scheduler::Machine::append_free(TensorState& tensor, std::optional<uint32_t> device) {
  Line line{.told = {.kind = Kind::Free, .device = device}};
  if (!device && tensor.is_host()) {
    line.told.needs = tensor.host_readers;
    line.told.needs.push_back(*tensor.host_writer);
    tensor.host_writer.reset();
  }
  const std::vector<Copy> copies = tensor.copies;
  for (const Copy& copy : copies) {
    if (device && copy.device != *device) continue;
    need_all(line.told.needs, copy);
    memory_.remove(tensor, copy.device);
    if (memory_.is_limited(copy.device)) lanes_[copy.device].released.push_back(queue_size());
  }
  append(std::move(line), tensor);
}

/// Records that the line reads the copy.
void Scheduler::Machine::read(Line& line, TensorState& tensor, uint32_t device) {
  Copy& copy = *tensor.on(device);
  line.told.needs.push_back(copy.writer);
  if (copy.readers.size() >= kReadersKept) {
    std::erase_if(copy.readers, [&](uint64_t pos) { return has_ended(pos); });
  }
  copy.readers.push_back(queue_size());
  memory_.touch(tensor, device, queue_size());
}

/// Makes the line wait for the lines that free memory on the device.
void Scheduler::Machine::need_released(Line& line, uint32_t device) {
  auto& released = lanes_[device].released;
  std::erase_if(released, [&](uint64_t pos) { return has_ended(pos); });
  line.told.needs.insert(line.told.needs.end(), released.begin(), released.end());
}

void Scheduler::Machine::append(Line line, const TensorState& tensor) {
  Queued& told = line.told;
  told.pos = queue_size();
  told.session = sessions_[tensor.session].told.name;
  told.id = tensor.id;
  std::ranges::sort(told.needs);
  const auto twice = std::ranges::unique(told.needs);
  told.needs.erase(twice.begin(), twice.end());
  line.tensor = tensor.number;
  if (told.device) {
    lanes_[*told.device].queue.push_back(told.pos);
    lanes_[*told.device].wait += line.cost;
  } else {
    floating_.push_back(told.pos);
  }
  queue_.push_back(std::move(line));
}

}  // namespace gpuemu::tape
