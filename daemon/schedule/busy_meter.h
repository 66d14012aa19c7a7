// Measures for which share of the last second something was busy. Uses no clock: the time is an
// argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

namespace gpuemu {

/// Not thread-safe.
class BusyMeter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{1};

  /// Counts one more running task; end() counts one less.
  void begin(Clock::time_point now) {
    if (running_++ == 0) since_ = now;
  }
  void end(Clock::time_point now) {
    if (--running_ > 0) return;
    forget(now);
    past_.push_back({since_, now});
  }
  /// Returns the share, from 0 to 1.
  double share(Clock::time_point now) const {
    const Clock::time_point from = now - kWindow;
    Clock::duration busy{0};
    for (const auto& [began, ended] : past_) {
      busy += std::max(Clock::duration{0}, ended - std::max(began, from));
    }
    if (running_ > 0) busy += now - std::max(since_, from);
    return std::min(1.0, std::chrono::duration<double>(busy) / kWindow);
  }

 private:
  void forget(Clock::time_point now) {
    while (!past_.empty() && past_.front().second < now - kWindow) past_.pop_front();
    constexpr size_t kKeptMax = 4096;  // More than the cases that begin and end in a second.
    if (past_.size() >= kKeptMax) past_.pop_front();
  }

  size_t running_ = 0;
  Clock::time_point since_;
  std::deque<std::pair<Clock::time_point, Clock::time_point>> past_;
};

}  // namespace gpuemu
