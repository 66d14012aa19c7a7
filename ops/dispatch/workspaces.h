// Device memory that ops need besides their tensors. Work of one stream is done in order, so its
// calls share one space, as large as the largest of them. No other stream uses it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu {

/// Thread-safe.
class Workspaces {
 public:
  /// `device` must outlive this object.
  explicit Workspaces(Device& device) : device_(device) {}
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// While it exists, no other call of the stream gets the space: all launches of a call must be
  /// issued before those of the next.
  struct Turn {
    uint64_t address = 0;
    std::unique_lock<std::mutex> lock = {};
  };
  Result<Turn> take(uint64_t bytes, StreamId stream);
  /// Allocates a separate space for a captured call, because its graph may run concurrently with
  /// anything, any number of times. Kept as long as this object, unless take_kept() hands it to the
  /// graph.
  Result<Turn> keep(uint64_t bytes, StreamId stream);
  /// Returns the addresses kept for streams for which `is_over` returns true. The caller must free
  /// them.
  std::vector<uint64_t> take_kept(const std::function<bool(StreamId stream)>& is_over);
  /// Frees the space of a stream that will not be used again.
  Status forget(StreamId stream);

 private:
  struct Space {
    std::mutex mutex;  ///< Guards the members below.
    uint64_t address = 0, bytes = 0;
  };
  /// The stream; kPerThreadStream is a different one in each thread, so the key includes the
  /// thread.
  using Key = std::pair<StreamId, std::shared_ptr<const char>>;
  Space& space_of(StreamId stream);

  Device& device_;
  std::mutex mutex_;  ///< Guards the members below.
  std::map<Key, std::unique_ptr<Space>> spaces_;
  std::vector<std::pair<StreamId, uint64_t>> kept_;
};

}  // namespace gpuemu
