// Device memory for what ops need beside their tensors. Work of one stream is done in order, so its
// calls share one space, as large as the largest of them; no other stream uses it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu {

/// Any thread.
class Workspaces {
 public:
  /// `device` outlives it.
  explicit Workspaces(Device& device) : device_(device) {}
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// While it lives no other call of the stream gets the space: all launches of one call have to be
  /// issued before those of the next.
  struct Turn {
    uint64_t address = 0;
    std::unique_lock<std::mutex> lock = {};
  };
  Result<Turn> take(uint64_t bytes, StreamId stream);
  /// For a call that is captured, and for it alone: its graph may run beside anything, as often as
  /// it is launched. Kept as long as this object, unless take_kept() gives it to the graph.
  Result<Turn> keep(uint64_t bytes, StreamId stream);
  /// Addresses kept for the streams of which `is_over` holds; they are the caller's to free.
  std::vector<uint64_t> take_kept(const std::function<bool(StreamId stream)>& is_over);
  /// Frees the space of a stream that will not be used again.
  Status forget(StreamId stream);

 private:
  struct Space {
    std::mutex mutex;  ///< Guards what follows.
    uint64_t address = 0, bytes = 0;
  };
  /// The stream; for kPerThreadStream, another one in each thread, with something of the thread.
  using Key = std::pair<StreamId, std::shared_ptr<const char>>;
  Space& space_of(StreamId stream);

  Device& device_;
  std::mutex mutex_;  ///< Guards what follows.
  std::map<Key, std::unique_ptr<Space>> spaces_;
  std::vector<std::pair<StreamId, uint64_t>> kept_;
};

}  // namespace gpuemu
