// Stream capture: the calls on capturing streams become nodes of a graph.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "bindings/libcuda/graphs/graph.h"

namespace gpuemu::libcuda {

/// CUstreamCaptureMode
enum class CaptureMode : int { Global, ThreadLocal, Relaxed };

/// One capture of one or more streams. graphs_mutex() guards the members that change.
struct Capture {
  uint64_t id = 0;
  Graph handle = nullptr;
  std::shared_ptr<GraphState> graph;
  bool extends = false;   ///< Adds to a graph that the program created.
  size_t first_node = 0;  ///< Earlier nodes of the graph do not belong to the capture.
  CaptureMode mode = CaptureMode::Global;
  std::thread::id thread;  ///< The thread that began it.
  std::atomic<bool> is_invalid = false, is_over = false;
};

/// The part of a stream or an event in a capture. graphs_mutex() guards it.
struct Captured {
  std::shared_ptr<Capture> capture;  ///< Null if it has none.
  bool is_origin = false;            ///< The capture began with this stream.
  std::vector<GraphNode> tips;       ///< The nodes that the next node follows.
  std::vector<GraphNode> told;       ///< The array last returned to the program points here.
};

/// Adds the work as the next node of the stream.
void add_node(Captured& stream, NodeWork work, std::shared_ptr<const CallSite> site);
/// Makes the next node of the stream also follow these nodes.
void join(Captured& stream, const std::vector<GraphNode>& nodes);
/// Returns true if the stream's next node would follow everything that was captured.
bool is_joined(const Captured& stream);

}  // namespace gpuemu::libcuda
