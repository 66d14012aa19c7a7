// The stream of a device that a host thread uses where it names none. Each thread has its own.
#pragma once

#include "runtime/device/stream.h"

namespace gpuemu {

/// kDefaultStream until the thread has chosen another for this device.
StreamId current_stream(const Device& device);
void set_current_stream(const Device& device, StreamId stream);

/// The stream is the thread's until the end of the scope.
class StreamScope {
 public:
  StreamScope(const Device& device, StreamId stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  const Device& device_;
  const StreamId before_;
};

}  // namespace gpuemu
