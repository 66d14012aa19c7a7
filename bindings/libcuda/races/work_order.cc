#include "bindings/libcuda/races/work_order.h"

#include <algorithm>

namespace gpuemu::libcuda {
namespace {

void join(WorkClock& into, const WorkClock& other) {
  for (const auto& [line, number] : other) {
    uint64_t& known = into[line];
    known = std::max(known, number);
  }
}

uint64_t number_in(const WorkClock& clock, Line line) {
  const auto found = clock.find(line);
  return found == clock.end() ? 0 : found->second;
}

}  // namespace

bool comes_before(const WorkStamp& first, const WorkStamp& second) {
  return number_in(*second.before, first.line) >= first.number;
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
  own.before[line] = ++own.issued;
  return {line, own.issued, ++issued_, std::make_shared<const WorkClock>(own.before)};
}

void WorkOrder::record(uint64_t event, Line line) { events_[event] = issue(line).before; }

void WorkOrder::wait(Line line, uint64_t event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;  // Never recorded: nothing to wait for.
  issue(line);
  join(lines_[line].before, *found->second);
}

void WorkOrder::host_waits_for(Line line) {
  // The legacy stream waits for the blocking ones, also where it has no work of its own.
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
    host_.erase(line);
    for (auto& [other, progress] : lines_) progress.before.erase(line);
  }
}

}  // namespace gpuemu::libcuda
