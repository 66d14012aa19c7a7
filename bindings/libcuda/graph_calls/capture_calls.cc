// Implements the calls of stream capture.
#include <utility>

#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr int kNone = 0, kActive = 1, kInvalidated = 2;

/// Returns the capture mode of this thread.
CaptureMode& mode_of_thread() {
  thread_local CaptureMode mode = CaptureMode::Global;
  return mode;
}

/// Returns true if a capture forbids this thread calls that may wait for the device.
bool forbids_unsafe(const Capture& capture) {
  const CaptureMode own = mode_of_thread();
  if (own == CaptureMode::Relaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != CaptureMode::Relaxed;
  return capture.mode == CaptureMode::Global && own == CaptureMode::Global;
}

/// Results requested from cuStreamGetCaptureInfo besides the status; null if not requested.
struct CaptureInfo {
  uint64_t* id = nullptr;
  Graph* graph = nullptr;
  const GraphNode** nodes = nullptr;
  const EdgeData** edges = nullptr;
  size_t* count = nullptr;
};

int capture_info(const Place& place, int* status, const CaptureInfo& asked) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = kNone;
  if (place.state == nullptr) return CUDA_SUCCESS;
  const std::lock_guard lock(graphs_mutex());
  Captured& stream = place.state->captured;
  if (stream.capture == nullptr) return CUDA_SUCCESS;
  *status = stream.capture->is_invalid ? kInvalidated : kActive;
  if (*status == kInvalidated) return CUDA_SUCCESS;
  stream.told = stream.tips;
  if (asked.id != nullptr) *asked.id = stream.capture->id;
  if (asked.graph != nullptr) *asked.graph = stream.capture->handle;
  if (asked.nodes != nullptr) *asked.nodes = stream.told.data();
  if (asked.edges != nullptr) *asked.edges = nullptr;  // All edges are plain.
  if (asked.count != nullptr) *asked.count = stream.told.size();
  return CUDA_SUCCESS;
}

/// Begins a capture that adds nodes to the graph; creates a graph if none is given.
int begin(Process& driver, const Place& place, int mode, Graph graph,
          const std::vector<GraphNode>& tips) {
  if (mode < 0 || mode > static_cast<int>(CaptureMode::Relaxed)) return CUDA_ERROR_INVALID_VALUE;
  if (place.state == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Captured& stream = place.state->captured;
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto made = std::make_shared<Capture>();
  made->id = next_handle();
  made->mode = static_cast<CaptureMode>(mode);
  made->thread = std::this_thread::get_id();
  made->extends = graph != nullptr;
  made->graph =
      graph == nullptr ? std::make_shared<GraphState>(place.device) : driver.graphs.find(graph);
  made->handle = graph == nullptr ? driver.graphs.add(made->graph) : graph;
  made->first_node = made->graph->nodes().size();
  stream = {std::move(made), true, tips, {}};
  place.state->captures = true;
  return CUDA_SUCCESS;
}

/// Ends the capture in all its streams.
void leave(Process& driver, const std::shared_ptr<Capture>& capture) {
  for (const Stream one :
       driver.streams.which([](const StreamState& state) { return state.captures.load(); })) {
    const auto state = driver.streams.find(one);
    if (state == nullptr || state->captured.capture != capture) continue;
    state->captured = {};
    state->captures = false;
  }
  capture->is_over = true;
}

int end(Process& driver, const Place& place, Graph* graph) {
  if (place.state == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const Captured stream = place.state->captured;
  if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  // A caller that adds to its own graph need not get the graph back.
  if (graph == nullptr && !stream.capture->extends) return CUDA_ERROR_INVALID_VALUE;
  if (!stream.is_origin) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  Capture& capture = *stream.capture;
  if (capture.mode != CaptureMode::Relaxed && capture.thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  int code = CUDA_SUCCESS;
  if (capture.is_invalid) {
    code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!is_joined(stream)) {
    code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  leave(driver, stream.capture);
  if (graph != nullptr) *graph = code == CUDA_SUCCESS ? capture.handle : nullptr;
  if (code != CUDA_SUCCESS && !capture.extends) driver.graphs.remove(capture.handle);
  capture.graph = nullptr;
  return code;
}

/// Replaces the dependencies of a stream's next node, or adds to them.
int update_dependencies(const Place& place, const GraphNode* nodes, size_t count, unsigned flags) {
  constexpr unsigned kSet = 1;
  if ((flags & ~kSet) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_captured(place)) return CUDA_ERROR_ILLEGAL_STATE;
  const std::lock_guard lock(graphs_mutex());
  Captured& stream = place.state->captured;
  if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<Node*> found;
  if (!find_nodes(*stream.capture->graph, nodes, count, found)) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & kSet) != 0) stream.tips.clear();
  join(stream, {nodes, nodes + count});
  return CUDA_SUCCESS;
}

}  // namespace

int refuse_unsafe(Process& driver) {
  const auto captures = [](const StreamState& stream) { return stream.captures.load(); };
  int code = CUDA_SUCCESS;
  for (const Stream one : driver.streams.which(captures)) {
    const auto state = driver.streams.find(one);
    if (state == nullptr) continue;
    const std::lock_guard lock(graphs_mutex());
    const std::shared_ptr<Capture>& capture = state->captured.capture;
    if (capture == nullptr || !forbids_unsafe(*capture)) continue;
    capture->is_invalid = true;
    code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return code;
}

GPUEMU_DRIVER_API int cuStreamIsCapturing(Stream stream, int* status) {
  return with_place(stream,
                    [&](Process&, const Place& place) { return capture_info(place, status, {}); });
}
GPUEMU_PER_THREAD(cuStreamIsCapturing, cuStreamIsCapturing_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCaptureInfo(Stream stream, int* status, uint64_t* id) {
  return with_place(
      stream, [&](Process&, const Place& place) { return capture_info(place, status, {id}); });
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCaptureInfo_v3(Stream stream, int* status, uint64_t* id,
                                                Graph* graph, const GraphNode** nodes,
                                                const EdgeData** edges, size_t* count) {
  return with_place(stream, [&](Process&, const Place& place) {
    return capture_info(place, status, {id, graph, nodes, edges, count});
  });
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz)

GPUEMU_DRIVER_API int cuStreamGetCaptureInfo_v2(Stream stream, int* status, uint64_t* id,
                                                Graph* graph, const GraphNode** nodes,
                                                size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, nullptr, count);
}
GPUEMU_PER_THREAD(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz)

GPUEMU_DRIVER_API int cuStreamBeginCapture_v2(Stream stream, int mode) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    const std::lock_guard lock(graphs_mutex());
    return begin(driver, place, mode, nullptr, {});
  });
}
GPUEMU_PER_THREAD(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz)

GPUEMU_DRIVER_API int cuStreamBeginCapture(Stream stream) {
  return cuStreamBeginCapture_v2(stream, 0);
}
GPUEMU_PER_THREAD(cuStreamBeginCapture, cuStreamBeginCapture_ptsz)

GPUEMU_DRIVER_API int cuStreamBeginCaptureToGraph(Stream stream, Graph graph,
                                                  const GraphNode* nodes, const EdgeData* edges,
                                                  size_t count, int mode) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    const std::lock_guard lock(graphs_mutex());
    const auto state = driver.graphs.find(graph);
    if (state == nullptr || state->device() != place.device) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> found;
    if (!find_nodes(*state, nodes, count, found)) return CUDA_ERROR_INVALID_VALUE;
    if (!are_plain(edges, count)) {
      return unsupported_call("cuStreamBeginCaptureToGraph with programmatic edges");
    }
    return begin(driver, place, mode, graph, {nodes, nodes + count});
  });
}
GPUEMU_PER_THREAD(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz)

GPUEMU_DRIVER_API int cuStreamEndCapture(Stream stream, Graph* graph) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    const std::lock_guard lock(graphs_mutex());
    return end(driver, place, graph);
  });
}
GPUEMU_PER_THREAD(cuStreamEndCapture, cuStreamEndCapture_ptsz)

GPUEMU_DRIVER_API int cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes,
                                                        size_t count, unsigned flags) {
  return with_place(stream, [&](Process&, const Place& place) {
    return update_dependencies(place, nodes, count, flags);
  });
}
GPUEMU_PER_THREAD(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz)

GPUEMU_DRIVER_API int cuStreamUpdateCaptureDependencies_v2(Stream stream, GraphNode* nodes,
                                                           const EdgeData* edges, size_t count,
                                                           unsigned flags) {
  return with_place(stream, [&](Process&, const Place& place) -> int {
    if (!are_plain(edges, count)) {
      return unsupported_call("cuStreamUpdateCaptureDependencies with programmatic edges");
    }
    return update_dependencies(place, nodes, count, flags);
  });
}
GPUEMU_PER_THREAD(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz)

GPUEMU_DRIVER_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  return driver_call([&](Process&) -> int {
    if (mode == nullptr || *mode < 0 || *mode > static_cast<int>(CaptureMode::Relaxed)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CaptureMode before = std::exchange(mode_of_thread(), static_cast<CaptureMode>(*mode));
    *mode = static_cast<int>(before);
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
