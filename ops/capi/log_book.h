// The logs of calls that a context keeps for its callers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "ops/dispatch/dispatcher.h"

namespace gpuemu::opcall {

/// A logged call.
struct LoggedCall {
  uint64_t sequence = 0;  ///< From 0, over all logs of the context.
  uint64_t thread = 0;    ///< Thread id of the system.
  DispatchRecord record;
};

/// Thread-safe.
class LogBook {
 public:
  uint64_t start(bool times, uint32_t records_max);
  /// Returns false if there is no such log.
  bool stop(uint64_t log);
  /// Returns the records of the log as JSON; "" if there is no such log.
  std::string json(uint64_t log) const;
  /// Sets a function that the calling thread calls with every record; null: none.
  void set_callback(std::function<void(const DispatchRecord& record)> callback);

  /// Return whether a log or callback is active, and whether one needs times.
  bool wants_records() const;
  bool wants_times() const;
  void tell(const DispatchRecord& record);

  std::mutex listening;  ///< Held while the dispatcher's log is set or removed.

 private:
  struct Log {
    bool times = false;
    uint32_t records_max = 0;
    uint64_t dropped = 0;
    std::vector<LoggedCall> calls;
  };

  mutable std::mutex mutex_;  ///< Guards the members below.
  std::map<uint64_t, Log> logs_;
  std::function<void(const DispatchRecord&)> callback_;
  uint64_t next_log_ = 1, next_sequence_ = 0;
};

}  // namespace gpuemu::opcall
