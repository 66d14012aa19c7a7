// Stream capture: the calls that streams get meanwhile become nodes of a graph.
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
  bool extends = false;   ///< Adds to a graph that the program has made.
  size_t first_node = 0;  ///< Earlier nodes of the graph are none of the capture.
  CaptureMode mode = CaptureMode::Global;
  std::thread::id thread;  ///< Began it.
  std::atomic<bool> is_invalid = false, is_over = false;
};

/// What a stream or an event has to do with a capture. graphs_mutex() guards it.
struct Captured {
  std::shared_ptr<Capture> capture;  ///< Null: nothing.
  bool is_origin = false;            ///< The capture began with this stream.
  std::vector<GraphNode> tips;       ///< What the next node comes after.
  std::vector<GraphNode> told;       ///< What the program was last told of them points here.
};

/// Makes the work the next node of the stream.
void add_node(Captured& stream, NodeWork work, std::shared_ptr<const CallSite> site);
/// The next node of the stream also comes after these.
void join(Captured& stream, const std::vector<GraphNode>& nodes);
/// Whether the stream's next node would come after all that was captured.
bool is_joined(const Captured& stream);

}  // namespace gpuemu::libcuda
