// Finds the nodes of a capture that a launch has to wait for, when it is known what memory each
// touches: those before it that write what it touches, or touch what it writes. A stream's work,
// one launch after the other, becomes a graph whose branches run side by side.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/device/stream.h"

namespace gpuemu::cuda {

/// The order of one captured stream. Nodes are the driver's handles. Not for several threads at
/// once.
class CaptureOrder {
 public:
  using Node = void*;

  /// `now`: what the stream's next node would wait for. Nodes that were not added here are waited
  /// for by everything that comes: those of other streams and libraries, of copies and fills.
  void begin(uint64_t capture, std::span<const Node> now);
  /// What a launch with these accesses waits for.
  std::vector<Node> before(std::span<const MemoryAccess> accesses) const;
  /// The launch became `node`. The stream's next node waits for it too.
  void add(Node node, std::span<const MemoryAccess> accesses);
  /// One that is full takes no more: the next launch waits for all, and is the first of a new one.
  bool is_full() const;

 private:
  struct Launched {
    Node node = nullptr;
    std::vector<MemoryAccess> accesses;
    std::vector<bool> after;  ///< The launches that it follows, by their numbers.
  };
  std::vector<size_t> needed(std::span<const MemoryAccess> accesses) const;

  uint64_t capture_ = 0;
  std::vector<Node> base_;  ///< All launches follow these.
  std::vector<Launched> launched_;
};

}  // namespace gpuemu::cuda
