#include "bindings/libcuda/races/work_order.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace gpuemu::libcuda {
namespace {

void join(WorkClock& into, const WorkClock& other) {
  for (const auto& [line, number] : other.known) {
    uint64_t& known = into.known[line];
    known = std::max(known, number);
  }
  for (const auto& one : other.awaited) {
    if (std::ranges::find(into.awaited, one) == into.awaited.end()) into.awaited.push_back(one);
  }
}

using Seen = std::set<const WorkClock*>;

/// Replaces awaited values that have been written by the clocks of their writes.
void settle(WorkClock& clock) {
  Seen seen;  // Prevents cycles: a write may wait for a value whose write waits for this one.
  for (size_t i = 0; i < clock.awaited.size();) {
    const std::shared_ptr<const WorkClock> written = clock.awaited[i]->written;
    if (written == nullptr) {
      ++i;
      continue;
    }
    clock.awaited.erase(clock.awaited.begin() + static_cast<std::ptrdiff_t>(i));
    if (seen.insert(written.get()).second) join(clock, *written);
  }
}

uint64_t number_in(const WorkClock& clock, Line line) {
  const auto found = clock.known.find(line);
  return found == clock.known.end() ? 0 : found->second;
}

/// Returns true if `visit` holds for the clock, or for one of the clocks before the writes that it
/// awaits.
template <typename Visit>
bool any_clock(const WorkClock& clock, const Visit& visit, Seen& seen) {
  if (!seen.insert(&clock).second) return false;
  return visit(clock) || std::ranges::any_of(clock.awaited, [&](const auto& one) {
           return one->written != nullptr && any_clock(*one->written, visit, seen);
         });
}

bool awaits_a_write(const WorkStamp& work) {
  Seen seen;
  return any_clock(
      *work.before,
      [](const WorkClock& clock) {
        return std::ranges::any_of(clock.awaited,
                                   [](const auto& one) { return one->written == nullptr; });
      },
      seen);
}

}  // namespace

bool comes_before(const WorkStamp& first, const WorkStamp& second) {
  Seen seen;
  return any_clock(
      *second.before,
      [&](const WorkClock& clock) { return number_in(clock, first.line) >= first.number; }, seen);
}

bool may_become_ordered(const WorkStamp& one, const WorkStamp& other) {
  return awaits_a_write(one) || awaits_a_write(other);
}

bool are_ordered(const WorkStamp& one, const WorkStamp& other) {
  return comes_before(one, other) || comes_before(other, one);
}

void WorkOrder::end(Line line) {
  const auto found = lines_.find(line);
  if (found != lines_.end()) found->second.has_ended = true;
}

WorkStamp WorkOrder::issue(Line line) {
  Progress& own = lines_[line];
  join(own.before, host_);
  if (line.stream == kLegacy) {
    for (const auto& [other, progress] : lines_) {
      if (other.device == line.device && progress.is_blocking) join(own.before, progress.before);
    }
  } else if (own.is_blocking) {
    const auto legacy = lines_.find({line.device, kLegacy});
    if (legacy != lines_.end()) join(own.before, legacy->second.before);
  }
  settle(own.before);
  own.before.known[line] = ++own.issued;
  return {line, own.issued, ++issued_, std::make_shared<const WorkClock>(own.before)};
}

WorkStamp WorkOrder::issue_after(Line line, const std::vector<WorkStamp>& before) {
  for (const WorkStamp& one : before) join(lines_[line].before, *one.before);
  return issue(line);
}

void WorkOrder::record(uint64_t event, Line line) { events_[event] = issue(line).before; }

void WorkOrder::wait(Line line, uint64_t event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;  // Never recorded: nothing to wait for.
  issue(line);
  join(lines_[line].before, *found->second);
}

bool WorkOrder::write_value(uint64_t address, uint64_t value, Line line) {
  const std::shared_ptr<const WorkClock> before = issue(line).before;
  values_[address] = {value, before};
  bool was_awaited = false;
  std::erase_if(awaited_, [&](const auto& one) {
    if (one->address != address || !one->is_met(value)) return false;
    one->written = before;
    was_awaited = true;
    return true;
  });
  return was_awaited;
}

void WorkOrder::wait_for_value(uint64_t address, std::function<bool(uint64_t)> is_met, Line line) {
  issue(line);
  const auto last = values_.find(address);
  if (last != values_.end() && is_met(last->second.value)) {
    join(lines_[line].before, *last->second.before);
    return;
  }
  awaited_.push_back(
      std::make_shared<AwaitedValue>(AwaitedValue{address, std::move(is_met), nullptr}));
  lines_[line].before.awaited.push_back(awaited_.back());
}

void WorkOrder::forget_values(uint64_t address, uint64_t bytes) {
  const auto is_there = [&](uint64_t at) { return at >= address && at - address < bytes; };
  std::erase_if(values_, [&](const auto& one) { return is_there(one.first); });
  std::erase_if(awaited_, [&](const auto& one) { return is_there(one->address); });
}

void WorkOrder::host_waits_for(Line line) {
  // The legacy stream waits for the blocking ones, even if it has no work itself.
  if (line.stream == kLegacy) issue(line);
  const auto found = lines_.find(line);
  if (found != lines_.end()) join(host_, found->second.before);
}

void WorkOrder::host_waits_for_event(uint64_t event) {
  const auto found = events_.find(event);
  if (found != events_.end()) join(host_, *found->second);
}

void WorkOrder::host_waits_for_device(int device) {
  for (const auto& [line, progress] : lines_) {
    if (line.device == device) join(host_, progress.before);
  }
}

void WorkOrder::host_saw(const WorkStamp& work) { join(host_, *work.before); }

bool WorkOrder::host_has_seen(const WorkStamp& work) const {
  return number_in(host_, work.line) >= work.number;
}

void WorkOrder::forget_ended() {
  for (auto at = lines_.begin(); at != lines_.end();) {
    const Line line = at->first;
    const bool is_seen = number_in(host_, line) >= at->second.issued;
    if (!at->second.has_ended || !is_seen) {
      ++at;
      continue;
    }
    at = lines_.erase(at);
    host_.known.erase(line);
    for (auto& [other, progress] : lines_) progress.before.known.erase(line);
  }
}

}  // namespace gpuemu::libcuda
