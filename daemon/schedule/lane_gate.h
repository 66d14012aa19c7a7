// Limits how many cases run at a time in all slot pools of a daemon, and decides whose case is
// next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace gpuemu {

/// Shares lanes between projects by the time that their cases hold one: a free lane goes to the
/// waiting project that has used the least, so a long campaign never keeps a short test of another
/// project waiting for more than the cases that run. Thread-safe.
class LaneGate {
 public:
  /// REQUIRES: lanes > 0.
  explicit LaneGate(size_t lanes) : free_(lanes) {}

  /// Waits until a lane is free and it is the project's turn. Returns false when `ended()` is true,
  /// which it checks again after wake().
  bool enter(const std::string& project, const std::function<bool()>& ended);
  /// Gives the lane back. `used` is the time that the case held it.
  void leave(const std::string& project, std::chrono::microseconds used);
  /// Makes all waiting threads check ended() again.
  void wake();

 private:
  struct Share {
    std::chrono::microseconds used{0};  ///< At least that of the others when it began to wait.
    size_t waiting = 0, running = 0;
    uint64_t came = 0;  ///< Order of arrival, for equal `used`.
  };
  /// The share that is served next; null when none waits.
  const Share* next() const;
  void forget_if_idle(const std::string& project);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  size_t free_;
  uint64_t came_ = 0;
  std::map<std::string, Share> shares_;  ///< Projects with waiting or running cases.
};

}  // namespace gpuemu
