// The trace of what has run, for those who may see it.
#include <algorithm>

#include "daemon/tapes/tapes.h"

namespace gpuemu {
namespace {

template <typename T, typename Keep>
void keep_if(std::vector<T>& list, const Keep& keep) {
  std::erase_if(list, [&](const T& one) { return !keep(one); });
}

/// Positions of others' lines are left out.
void keep_positions(tape::Trace& trace) {
  std::set<uint64_t> kept;
  for (const tape::Queued& line : trace.output_queue) kept.insert(line.pos);
  const auto is_kept = [&](uint64_t pos) { return kept.contains(pos); };
  for (tape::Tick& tick : trace.ticks) {
    keep_if(tick.started, is_kept);
    keep_if(tick.ended, is_kept);
    for (auto& pos : tick.busy) {
      if (pos && !is_kept(*pos)) pos.reset();
    }
  }
}

/// Counts the totals over the lines that the trace still has.
void count_again(tape::Trace& trace) {
  tape::Totals totals{.makespan_us = trace.totals.makespan_us};
  for (const tape::Queued& line : trace.output_queue) {
    if (line.attempt > 0) continue;
    totals.ops += line.kind == tape::Kind::Run ? 1 : 0;
    totals.spills += line.kind == tape::Kind::Spill ? 1 : 0;
    if (line.kind != tape::Kind::Move) continue;
    ++totals.moves;
    totals.moved_bytes += line.bytes;
  }
  trace.totals = totals;
}

}  // namespace

bool Tapes::is_wanted(const Wanted& wanted, const std::string& name) const {
  const auto label = labels_.find(name);
  if (label == labels_.end()) return false;
  if (!wanted.user.empty() && label->second.user != wanted.user) return false;
  if (wanted.number) return label->second.owner->number == *wanted.number;
  return wanted.name.empty() || wanted.name == name || wanted.name == label->second.session;
}

/// The scheduler knows what is planned; whether it is done, and how it went, the executor.
void Tapes::correct_handles(tape::Trace& trace) const {
  using Condition = TapeExecutor::Condition;
  for (tape::Handle& handle : trace.handles) {
    const tape::Known* const known = scheduler_->find(handle.session, handle.id);
    if (known == nullptr || executor_ == nullptr) continue;
    const Condition condition = executor_->condition(known->number);
    const bool is_planned =
        handle.state == tape::State::Ready || handle.state == tape::State::Spilled;
    if (condition == Condition::Failed || condition == Condition::Lost) {
      handle.state = condition == Condition::Lost ? tape::State::Lost : tape::State::Failed;
      handle.devices.clear();
      handle.host = false;
    } else if (condition == Condition::Pending && is_planned) {
      handle.state = tape::State::Pending;
    }
  }
}

/// REQUIRES: mutex_ is held.
tape::Trace Tapes::visible_trace(const Wanted& wanted) const {
  tape::Trace trace = scheduler_->trace();
  trace.gpuemu = settings_.version;
  trace.simulated = false;
  correct_handles(trace);
  if (executor_ != nullptr) {
    const std::vector<std::string> ids = executor_->worker_ids();
    for (tape::Device& one : trace.devices) {
      if (!ids[one.index].empty()) one.worker_id = ids[one.index];
    }
  }
  if (!wanted.number && wanted.name.empty() && wanted.user.empty()) return trace;
  const auto is_seen = [&](const auto& one) { return is_wanted(wanted, one.session); };
  keep_if(trace.sessions, [&](const auto& one) { return is_wanted(wanted, one.name); });
  keep_if(trace.input_tape, is_seen);
  keep_if(trace.output_queue, is_seen);
  keep_if(trace.handles, is_seen);
  keep_positions(trace);
  count_again(trace);
  return trace;
}

Result<std::string> Tapes::trace(const Wanted& wanted) {
  tape::Trace trace;
  std::shared_ptr<TapeExecutor> executor;
  {
    const std::lock_guard lock(mutex_);
    executor = executor_;
  }
  // Handles tell what there is: what was lost with a worker is made again first.
  if (executor != nullptr) executor->mend();
  {
    const std::lock_guard lock(mutex_);
    if (!wanted.name.empty() && std::ranges::none_of(labels_, [&](const auto& label) {
          return is_wanted(wanted, label.first);
        })) {
      return error(ErrorCode::NotFound,
                   "no session '{}' has submitted to the tape; `gpuemu sessions` lists those there "
                   "are",
                   wanted.name);
    }
    trace = visible_trace(wanted);
  }
  return tape::encode_trace(trace, wanted.layers);
}

}  // namespace gpuemu
