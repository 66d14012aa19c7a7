#include "runtime/emulator/grid_deadlock.h"

#include <algorithm>

namespace gpuemu::emulator {

uint64_t GridDeadlock::begin(uint32_t thread) {
  const std::lock_guard lock(mutex_);
  if (threads_[thread] == kBusy) ++time_;
  threads_[thread] = kLooking;
  return time_;
}

bool GridDeadlock::all_stuck(uint32_t thread, uint64_t time) {
  const std::lock_guard lock(mutex_);
  threads_[thread] = time;
  return std::ranges::all_of(threads_, [&](uint64_t at) { return at == kGone || at == time_; });
}

bool GridDeadlock::may_have_changed(uint32_t thread) {
  const std::lock_guard lock(mutex_);
  return threads_[thread] != time_ || std::ranges::find(threads_, kBusy) != threads_.end();
}

void GridDeadlock::goes_on(uint32_t thread) {
  const std::lock_guard lock(mutex_);
  threads_[thread] = kBusy;
  ++time_;
}

void GridDeadlock::leaves(uint32_t thread) {
  const std::lock_guard lock(mutex_);
  threads_[thread] = kGone;
  ++time_;
}

}  // namespace gpuemu::emulator
