#include "daemon/schedule/lane_gate.h"

#include <algorithm>
#include <tuple>

namespace gpuemu {

const LaneGate::Share* LaneGate::next() const {
  const Share* first = nullptr;
  for (const auto& [project, share] : shares_) {
    if (share.waiting == 0) continue;
    if (first == nullptr || std::tie(share.used, share.came) < std::tie(first->used, first->came)) {
      first = &share;
    }
  }
  return first;
}

bool LaneGate::enter(const std::string& project, const std::function<bool()>& ended) {
  std::unique_lock lock(mutex_);
  const auto [place, is_new] = shares_.try_emplace(project);
  Share& share = place->second;
  if (share.waiting == 0) {
    // A project saves up no time while it has nothing to run.
    auto least = std::chrono::microseconds::max();
    for (const auto& [name, other] : shares_) {
      if (&other != &share) least = std::min(least, other.used);
    }
    if (least != std::chrono::microseconds::max()) share.used = std::max(share.used, least);
    if (is_new) share.came = ++came_;
  }
  ++share.waiting;
  changed_.wait(lock, [&] { return ended() || (free_ > 0 && next() == &share); });
  --share.waiting;
  if (ended()) {
    forget_if_idle(project);
    changed_.notify_all();
    return false;
  }
  --free_;
  ++share.running;
  if (free_ > 0) changed_.notify_all();  // The next one may enter too.
  return true;
}

void LaneGate::leave(const std::string& project, std::chrono::microseconds used) {
  const std::lock_guard lock(mutex_);
  Share& share = shares_.at(project);
  share.used += used;
  --share.running;
  ++free_;
  forget_if_idle(project);
  changed_.notify_all();
}

void LaneGate::forget_if_idle(const std::string& project) {
  const auto found = shares_.find(project);
  if (found->second.waiting == 0 && found->second.running == 0) shares_.erase(found);
}

void LaneGate::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace gpuemu
