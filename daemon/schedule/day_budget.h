// The device time that a user may use in a day.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace gpuemu {

/// Starts again at midnight, UTC. Thread-safe.
class DayBudget {
 public:
  /// The time used in a day; days are counted from 1970.
  struct Use {
    int64_t day = 0, used_us = 0;
  };

  DayBudget(std::string user, double seconds);
  const std::string& user() const { return user_; }
  void add(int64_t microseconds);
  /// Returns "user NAME: 60 s of device time are used up for today (device_seconds_per_day),
  /// renewed at 2026-01-02 00:00 UTC"; nothing while time is left.
  std::optional<std::string> used_up();
  Use use();
  /// Continues a day that an earlier daemon counted.
  void restore(Use use);

 private:
  void begin_day();  ///< REQUIRES: mutex_ is held.

  const std::string user_;
  const int64_t limit_us_;
  std::mutex mutex_;
  Use use_;  // Guarded by mutex_.
};

}  // namespace gpuemu
