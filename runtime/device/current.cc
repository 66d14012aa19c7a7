#include "runtime/device/current.h"

#include <utility>
#include <vector>

namespace gpuemu {
namespace {

/// A process has few devices, so a linear search through pairs is faster than a map. Serial numbers
/// are never reused, so an entry of a destroyed device matches no later one.
using ChosenStreams = std::vector<std::pair<uint64_t, StreamId>>;

ChosenStreams& mine() {
  thread_local ChosenStreams streams;
  return streams;
}

}  // namespace

StreamId current_stream(const Device& device) {
  for (const auto& [serial, stream] : mine()) {
    if (serial == device.serial()) return stream;
  }
  return kDefaultStream;
}

void set_current_stream(const Device& device, StreamId stream) {
  auto& streams = mine();
  std::erase_if(streams, [&](const auto& pair) { return pair.first == device.serial(); });
  if (stream != kDefaultStream) streams.emplace_back(device.serial(), stream);
}

StreamScope::StreamScope(const Device& device, StreamId stream)
    : device_(device), before_(current_stream(device)) {
  set_current_stream(device, stream);
}

StreamScope::~StreamScope() { set_current_stream(device_, before_); }

}  // namespace gpuemu
