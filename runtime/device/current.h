// The current stream of a host thread: the one used for a device when a call names no stream.
#pragma once

#include "runtime/device/stream.h"

namespace gpuemu {

/// Returns the thread's current stream for this device; kDefaultStream unless the thread set
/// another.
StreamId current_stream(const Device& device);
void set_current_stream(const Device& device, StreamId stream);

/// Makes a stream the calling thread's current one until the end of the scope.
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
