// Finds the nodes of a capture that a launch must wait for, given the memory that each accesses:
// earlier nodes that write what it accesses, or access what it writes. A stream's sequence of
// launches becomes a graph with parallel branches.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu::cuda {

/// The dependencies of one captured stream. Nodes are the driver's handles. Not thread-safe.
class CaptureOrder {
 public:
  using Node = void*;

  /// `now`: the nodes that the stream's next node would wait for. Every later launch waits for
  /// nodes that were not added here, such as those of other streams and libraries, of copies and
  /// fills.
  void begin(uint64_t capture, std::span<const Node> now);
  /// Returns what a launch with these accesses must wait for.
  std::vector<Node> before(std::span<const MemoryAccess> accesses) const;
  /// Records that the launch became `node`. The stream's next node waits for it too.
  void add(Node node, std::span<const MemoryAccess> accesses);
  /// When it is full, the next launch waits for all earlier ones and starts a new order.
  bool is_full() const;

 private:
  struct Launched {
    Node node = nullptr;
    std::vector<MemoryAccess> accesses;
    std::vector<bool> after;  ///< Indices of the launches that it follows.
  };
  std::vector<size_t> needed(std::span<const MemoryAccess> accesses) const;

  uint64_t capture_ = 0;
  std::vector<Node> base_;  ///< All launches follow these nodes.
  std::vector<Launched> launched_;
};

}  // namespace gpuemu::cuda
