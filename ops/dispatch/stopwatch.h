// Measures how long the device takes for work issued on a stream between two calls.
#pragma once

#include "runtime/device/stream.h"

namespace gpuemu {

class Stopwatch {
 public:
  explicit Stopwatch(Streams& streams) : streams_(streams) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  Status begin(StreamId stream);
  /// Waits for what was issued since begin(), and returns microseconds.
  Result<double> end(StreamId stream);

 private:
  Status record(EventId& event, StreamId stream);

  Streams& streams_;
  EventId begin_ = 0, end_ = 0;  ///< 0: not created yet.
};

}  // namespace gpuemu
