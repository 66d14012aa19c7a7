// The logs of calls that a context keeps for its callers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "ops/dispatch/dispatcher.h"

namespace gpuemu::opcall {

/// A call as one thread made it.
struct LoggedCall {
  uint64_t sequence = 0;  ///< From 0, over all logs of the context.
  uint64_t thread = 0;    ///< The system's number.
  DispatchRecord record;
};

/// Any thread.
class LogBook {
 public:
  uint64_t start(bool times, uint32_t records_max);
  /// False when there is no such log.
  bool stop(uint64_t log);
  /// Empty when there is no such log.
  std::string json(uint64_t log) const;
  /// Called with every record, by the thread that called; nullptr: nobody.
  void set_callback(std::function<void(const DispatchRecord& record)> callback);

  /// Whether anybody listens, and whether somebody wants times.
  bool wants_records() const;
  bool wants_times() const;
  void tell(const DispatchRecord& record);

  std::mutex listening;  ///< Held by whoever tells the dispatcher to talk or to be silent.

 private:
  struct Log {
    bool times = false;
    uint32_t records_max = 0;
    uint64_t dropped = 0;
    std::vector<LoggedCall> calls;
  };

  mutable std::mutex mutex_;  ///< Guards what follows.
  std::map<uint64_t, Log> logs_;
  std::function<void(const DispatchRecord&)> callback_;
  uint64_t next_log_ = 1, next_sequence_ = 0;
};

}  // namespace gpuemu::opcall
