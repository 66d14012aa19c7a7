#include "runtime/device/current.h"

#include <utility>
#include <vector>

namespace gpuemu {
namespace {

/// Few devices: a search through a handful of pairs beats any map. A serial number is never given
/// twice, so what a dead device left here meets no other.
struct Current {
  Device* device = nullptr;
  std::vector<std::pair<uint64_t, StreamId>> streams;
};

Current& mine() {
  thread_local Current current;
  return current;
}

}  // namespace

Device* current_device() { return mine().device; }

void set_current_device(Device* device) { mine().device = device; }

StreamId current_stream(const Device& device) {
  for (const auto& [serial, stream] : mine().streams) {
    if (serial == device.serial()) return stream;
  }
  return kDefaultStream;
}

void set_current_stream(const Device& device, StreamId stream) {
  auto& streams = mine().streams;
  std::erase_if(streams, [&](const auto& pair) { return pair.first == device.serial(); });
  if (stream != kDefaultStream) streams.emplace_back(device.serial(), stream);
}

StreamScope::StreamScope(const Device& device, StreamId stream)
    : device_(device), before_(current_stream(device)) {
  set_current_stream(device, stream);
}

StreamScope::~StreamScope() { set_current_stream(device_, before_); }

}  // namespace gpuemu
