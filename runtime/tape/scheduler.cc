// A tick: ends what has ended, admits entries, places ready ops and starts idle devices.
#include <algorithm>
#include <utility>

#include "runtime/tape/machine.h"

namespace gpuemu::tape {

Scheduler::Machine::Machine(Settings settings)
    : settings_(std::move(settings)),
      lanes_(settings_.devices.size()),
      memory_(settings_.devices),
      is_full_(settings_.devices.size()),
      next_leaf_(settings_.seed) {
  GPUEMU_CHECK(!lanes_.empty() && lanes_.size() <= kDevicesMax);
  next_leaf_ %= lanes_.size();
}

uint32_t Scheduler::Machine::session_number(const std::string& name) {
  const auto [place, is_new] =
      session_numbers_.emplace(name, static_cast<uint32_t>(sessions_.size()));
  if (is_new) sessions_.push_back({.told = {.name = name}, .number = place->second});
  return place->second;
}

void Scheduler::Machine::set_weight(const std::string& session, double weight) {
  sessions_[session_number(session)].told.weight = weight;
}

Result<uint64_t> Scheduler::Machine::add(std::vector<Entry> entries, const OpCheck& check) {
  const uint64_t first = tape_size();
  for (size_t i = 0; i < entries.size(); ++i) entries[i].seq = first + i;
  GPUEMU_TRY(names_.add(entries, check));
  for (Entry& entry : entries) {
    SessionState& session = sessions_[session_number(entry.session)];
    if (entry.op != kDrop) ++session.unfinished;
    if (entry.makes_tensor()) session.live_bytes += *entry.bytes;
    tape_.push_back(std::move(entry));
  }
  return first;
}

const Failure* Scheduler::Machine::failure(uint64_t seq) const {
  const auto found = failures_.find(seq);
  return found == failures_.end() ? nullptr : &found->second;
}

const SessionState* Scheduler::Machine::session(const std::string& name) const {
  const auto found = session_numbers_.find(name);
  return found == session_numbers_.end() ? nullptr : &sessions_[found->second];
}

/// Returns the number of the next tick; nothing if there is no work.
std::optional<uint64_t> Scheduler::Machine::begin_tick() {
  const uint64_t next = tick_ + 1;
  if (!ends_.empty()) {
    now_ = std::max(now_, ends_.top().first);
    return next;
  }
  if (admitted_ < tape_size()) return std::max(next, entry(admitted_).at);
  if (!active_.empty() || !floating_.empty()) return next;
  return std::nullopt;
}

bool Scheduler::Machine::step() {
  const auto number = begin_tick();
  if (!number) return false;
  tick_ = *number;
  Tick tick{.tick = tick_, .time_us = now_};
  refused_.clear();
  end_entries(tick);
  admit(tick_);
  place_ready();
  // Later entries are unknown at this point, both in a plan and in a daemon.
  if (tick_ == 0) plan_localities();
  start_entries(tick);
  for (const Lane& lane : lanes_) tick.busy.push_back(lane.running);
  tick.waiting = waiting_;
  totals_.makespan_us = now_;
  ticks_.push_back(std::move(tick));
  forget_old();
  return true;
}

void Scheduler::Machine::end_entries(Tick& tick) {
  while (!ends_.empty() && ends_.top().first <= now_) {
    const uint64_t pos = ends_.top().second;
    ends_.pop();
    tick.ended.push_back(pos);
    end_entry(line(pos));
  }
}

void Scheduler::Machine::end_entry(Line& line) {
  line.has_ended = true;
  if (line.told.device) {
    Lane& lane = lanes_[*line.told.device];
    lane.wait -= line.cost;
    lane.running.reset();
  }
  for (const Line::Use& use : line.pinned) {
    const auto found = tensors_.find(use.tensor);
    if (found != tensors_.end()) memory_.unpin(found->second, use.device);
  }
  line.pinned.clear();
  if (!line.told.seq) return;
  const auto op = ops_.find(*line.told.seq);
  if (op == ops_.end()) return;
  if (line.told.kind == Kind::Run) {
    TensorState& made = tensor(line.tensor);
    made.is_produced = true;
    for (const uint64_t seq : std::exchange(made.waiting, {})) {
      const auto reader = ops_.find(seq);  // An op that failed meanwhile is gone.
      if (reader != ops_.end() && --reader->second.missing == 0) make_ready(reader->second);
    }
    finish(op->second);
    release(made);
    return;
  }
  finish(op->second);
}

void Scheduler::Machine::add_ready(SessionState& session, uint64_t seq) {
  if (session.ready.empty()) active_.emplace(session.used, session.number);
  session.ready.insert(seq);
}

bool Scheduler::Machine::remove_ready(SessionState& session, uint64_t seq) {
  if (session.ready.erase(seq) == 0) return false;
  if (session.ready.empty()) active_.erase({session.used, session.number});
  return true;
}

void Scheduler::Machine::make_ready(Op& op) {
  SessionState& session = sessions_[op.session];
  if (session.ready.empty()) {
    // A session that had nothing waiting starts level with those that have.
    session.used = std::max(session.used, active_.empty() ? clock_ : active_.begin()->first);
  }
  add_ready(session, op.seq);
}

/// Releases what the op held. The op is removed.
void Scheduler::Machine::finish(Op& op) {
  --sessions_[op.session].unfinished;
  const std::vector<uint64_t> inputs = std::move(op.inputs);
  ops_.erase(op.seq);
  for (const uint64_t number : inputs) {
    TensorState& input = tensor(number);
    --input.refs;
    release(input);
  }
}

/// Frees a tensor that nothing refers to.
void Scheduler::Machine::release(TensorState& tensor) {
  if (tensor.refs > 0 || tensor.is_freed || !(tensor.is_produced || tensor.is_failed)) return;
  tensor.is_freed = true;
  sessions_[tensor.session].live_bytes -= tensor.bytes;
  gone_.push_back(tensor.number);
  if (tensor.is_produced) append_free(tensor, std::nullopt);
}

void Scheduler::Machine::fail(Op& op, const Failure& why) {
  std::vector<uint64_t> failing = {op.seq};
  while (!failing.empty()) {
    const uint64_t seq = failing.back();
    failing.pop_back();
    const auto found = ops_.find(seq);
    if (found == ops_.end()) continue;
    failures_[seq] = why;
    refused_.push_back(seq);
    --waiting_;
    SessionState& session = sessions_[found->second.session];
    remove_ready(session, seq);
    const bool makes_tensor = found->second.does != Op::Does::Fetch;
    finish(found->second);
    if (!makes_tensor) continue;
    TensorState& made = tensor(seq);
    made.is_failed = true;
    const std::vector<uint64_t> readers = std::exchange(made.waiting, {});
    failing.insert(failing.end(), readers.begin(), readers.end());
    release(made);
  }
}

void Scheduler::Machine::admit(uint64_t tick) {
  while (admitted_ < tape_size() && entry(admitted_).at <= tick) {
    tape_[admitted_ - first_seq_].at = tick;
    admit(tape_[admitted_++ - first_seq_]);
  }
}

void Scheduler::Machine::admit(const Entry& entry) {
  if (entry.op == kDrop) return drop(entry);
  const uint32_t session = session_number(entry.session);
  Op op{.does = entry.is_leaf()        ? Op::Does::Leaf
                : entry.makes_tensor() ? Op::Does::Compute
                                       : Op::Does::Fetch,
        .seq = entry.seq,
        .bytes = entry.makes_tensor() ? *entry.bytes : 0,
        .cost = *entry.cost_us,
        .session = session,
        .inputs = {}};
  const Failure* failed = nullptr;
  for (const std::string& id : entry.inputs) {
    const uint64_t number = names_.find(entry.session, id)->number;
    if (std::ranges::find(op.inputs, number) != op.inputs.end()) continue;
    TensorState& input = tensor(number);
    ++input.refs;
    op.inputs.push_back(number);
    if (input.is_failed) {
      failed = failure(number);
    } else if (!input.is_produced) {
      input.waiting.push_back(entry.seq);
      ++op.missing;
    }
  }
  if (entry.makes_tensor()) {
    tensors_[entry.seq] = {
        .number = entry.seq, .session = session, .id = entry.id, .bytes = op.bytes};
  }
  ++waiting_;
  Op& kept = ops_[entry.seq] = std::move(op);
  if (failed != nullptr) return fail(kept, Failure(*failed));
  if (kept.missing == 0) make_ready(kept);
}

void Scheduler::Machine::drop(const Entry& entry) {
  TensorState& dropped = tensor(names_.find(entry.session, entry.inputs[0])->number);
  --dropped.refs;
  release(dropped);
}

/// Returns the latest line that puts the tensor on the device.
std::optional<uint64_t> Scheduler::Machine::writer_of(uint64_t tensor, uint32_t device) const {
  const auto again = repeated_.find({tensor, device});
  if (again != repeated_.end()) return again->second;
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) return std::nullopt;
  const auto& copies = found->second.copies;
  const auto copy = std::ranges::find(copies, device, &Copy::device);
  return copy == copies.end() ? std::nullopt : std::optional(copy->writer);
}

uint64_t Scheduler::Machine::repeat(Queued told, uint64_t tensor) {
  told.session = entry(tensor).session;
  told.id = entry(tensor).id;
  told.pos = queue_size();
  const uint32_t device = *told.device;
  if (told.kind == Kind::Run) {
    told.seq = tensor;
    for (const std::string& id : entry(tensor).inputs) {
      const Known* const known = names_.find(told.session, id);
      const auto writer = known == nullptr ? std::nullopt : writer_of(known->number, device);
      if (writer) told.needs.push_back(*writer);
    }
  } else if (told.kind == Kind::Free || told.kind == Kind::Move) {
    const auto writer = writer_of(tensor, told.from.value_or(device));
    if (writer) told.needs.push_back(*writer);
  }
  std::ranges::sort(told.needs);
  const auto twice = std::ranges::unique(told.needs);
  told.needs.erase(twice.begin(), twice.end());
  repeated_[{tensor, device}] = told.pos;
  Tick tick{.tick = ++tick_, .time_us = now_, .started = {told.pos}};
  for (const Lane& lane : lanes_) tick.busy.push_back(lane.running);
  tick.busy[device] = told.pos;
  tick.waiting = waiting_;
  Tick end = tick;
  end.tick = ++tick_;
  end.ended = std::exchange(end.started, {});
  end.busy[device] = lanes_[device].running;
  ticks_.push_back(std::move(tick));
  ticks_.push_back(std::move(end));
  queue_.push_back({.told = std::move(told), .tensor = tensor, .has_ended = true});
  return queue_.back().told.pos;
}

bool Scheduler::Machine::can_start(const Line& line) const {
  return std::ranges::all_of(line.told.needs, [&](uint64_t pos) { return has_ended(pos); });
}

void Scheduler::Machine::start(Line& line, Tick& tick) {
  tick.started.push_back(line.told.pos);
  ends_.emplace(now_ + line.cost, line.told.pos);
  if (line.told.kind == Kind::Run || line.told.kind == Kind::Fetch) --waiting_;
}

void Scheduler::Machine::start_entries(Tick& tick) {
  std::erase_if(floating_, [&](uint64_t pos) {
    if (!can_start(line(pos))) return false;
    start(line(pos), tick);
    return true;
  });
  for (Lane& lane : lanes_) {
    if (lane.running) continue;
    const auto next =
        std::ranges::find_if(lane.queue, [&](uint64_t pos) { return can_start(line(pos)); });
    if (next == lane.queue.end()) continue;
    lane.running = *next;
    lane.queue.erase(next);
    start(line(*lane.running), tick);
  }
}

/// Drops the oldest lines beyond the limit.
void Scheduler::Machine::forget_old() {
  const size_t most = settings_.entries_max;
  while (ticks_.size() > most) ticks_.pop_front();
  while (queue_.size() > most && queue_.front().has_ended) {
    queue_.pop_front();
    ++first_pos_;
  }
  while (tape_.size() > most && first_seq_ < admitted_ && !ops_.contains(first_seq_)) {
    if (!tensors_.contains(first_seq_)) failures_.erase(first_seq_);
    tape_.pop_front();
    ++first_seq_;
  }
  while (gone_.size() > most) {
    const auto found = tensors_.find(gone_.front());
    const TensorState& tensor = found->second;
    names_.forget(sessions_[tensor.session].told.name, tensor.id);
    repeated_.erase(repeated_.lower_bound({tensor.number, 0}),
                    repeated_.upper_bound({tensor.number, kDevicesMax}));
    if (gone_.front() < first_seq_) failures_.erase(gone_.front());
    tensors_.erase(found);
    gone_.pop_front();
  }
}

namespace {

State state_of(const TensorState& tensor) {
  if (tensor.is_failed) return State::Failed;
  if (tensor.is_freed) return State::Freed;
  if (!tensor.is_produced) return State::Pending;
  return tensor.copies.empty() ? State::Spilled : State::Ready;
}

}  // namespace

Trace Scheduler::Machine::trace() const {
  Trace all{.gpuemu = {}, .seed = settings_.seed, .policy = settings_.policy};
  all.devices = settings_.devices;
  for (const SessionState& one : sessions_) all.sessions.push_back(one.told);
  all.input_tape.assign(tape_.begin(), tape_.end());
  for (const Line& one : queue_) all.output_queue.push_back(one.told);
  std::map<uint64_t, const TensorState*> sorted;
  for (const auto& [number, tensor] : tensors_) sorted[number] = &tensor;
  for (const auto& [number, tensor] : sorted) {
    Handle handle{.id = tensor->id,
                  .session = sessions_[tensor->session].told.name,
                  .host = tensor->is_host(),
                  .bytes = tensor->bytes,
                  .refs = tensor->refs,
                  .state = state_of(*tensor)};
    for (const Copy& copy : tensor->copies) handle.devices.push_back(copy.device);
    all.handles.push_back(std::move(handle));
  }
  all.ticks.assign(ticks_.begin(), ticks_.end());
  all.totals = totals_;
  return all;
}

Scheduler::Scheduler(Settings settings) : machine_(new Machine(std::move(settings))) {}
Scheduler::~Scheduler() = default;

void Scheduler::set_weight(const std::string& session, double weight) {
  machine_->set_weight(session, weight);
}
Result<uint64_t> Scheduler::add(std::vector<Entry> entries, const OpCheck& check) {
  return machine_->add(std::move(entries), check);
}
bool Scheduler::step() { return machine_->step(); }
uint64_t Scheduler::repeat(Queued line, uint64_t tensor) {
  return machine_->repeat(std::move(line), tensor);
}
uint64_t Scheduler::next_tick() const { return machine_->next_tick(); }
const Tick& Scheduler::last_tick() const { return machine_->last_tick(); }
const Queued& Scheduler::queued(uint64_t pos) const { return machine_->queued(pos); }
uint64_t Scheduler::queue_size() const { return machine_->queue_size(); }
uint64_t Scheduler::tensor_of(uint64_t pos) const { return machine_->tensor_of(pos); }
void Scheduler::set_attrs(uint64_t seq, std::string attrs) {
  machine_->set_attrs(seq, std::move(attrs));
}
const Entry& Scheduler::entry(uint64_t seq) const { return machine_->entry(seq); }
size_t Scheduler::devices() const { return machine_->devices(); }
bool Scheduler::keeps(uint64_t seq) const { return machine_->keeps(seq); }
uint64_t Scheduler::tape_size() const { return machine_->tape_size(); }
const Known* Scheduler::find(const std::string& session, const std::string& id) const {
  return machine_->names().find(session, id);
}
const std::vector<uint64_t>& Scheduler::refused() const { return machine_->refused(); }
const Failure* Scheduler::failure(uint64_t seq) const { return machine_->failure(seq); }
uint64_t Scheduler::unfinished(const std::string& session) const {
  const SessionState* const found = machine_->session(session);
  return found == nullptr ? 0 : found->unfinished;
}
uint64_t Scheduler::live_bytes(const std::string& session) const {
  const SessionState* const found = machine_->session(session);
  return found == nullptr ? 0 : found->live_bytes;
}
std::vector<std::string> Scheduler::held(const std::string& session) const {
  return machine_->names().held(session);
}
Trace Scheduler::trace() const { return machine_->trace(); }

}  // namespace gpuemu::tape
