#include "bindings/libcuda/graph_calls/instantiate.h"

#include <unordered_map>
#include <utility>

#include "bindings/libcuda/calls/launches.h"
#include "bindings/libcuda/graph_calls/conditions.h"
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/memory_calls/copies.h"

namespace gpuemu::libcuda {
namespace {

/// Streams and events of the device for capturing a graph; destroyed with this object.
class Scratch {
 public:
  explicit Scratch(Streams& streams) : streams_(streams) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (is_captured_) (void)end();
    for (const StreamId one : used_streams_) (void)streams_.free_stream(one).ok();
    for (const EventId one : used_events_) (void)streams_.free_event(one).ok();
  }

  /// Begins the capture, in a new stream.
  Result<StreamId> begin() {
    first_ = GPUEMU_TRY(stream());
    GPUEMU_TRY(streams_.begin_capture(first_));
    is_captured_ = true;
    return first_;
  }
  Result<GraphExecId> end() {
    is_captured_ = false;
    const GraphId graph = GPUEMU_TRY(streams_.end_capture(first_));
    auto made = streams_.instantiate(graph);
    GPUEMU_TRY(streams_.free_graph(graph));
    return made;
  }
  /// Returns a new stream, which does not take part in the capture yet.
  Result<StreamId> stream() {
    used_streams_.push_back(
        GPUEMU_TRY(streams_.make_stream({.priority = 0, .non_blocking = true})));
    return used_streams_.back();
  }
  Result<EventId> event_after(StreamId stream) {
    used_events_.push_back(GPUEMU_TRY(streams_.make_event()));
    GPUEMU_TRY(streams_.record(used_events_.back(), stream));
    return used_events_.back();
  }

 private:
  Streams& streams_;
  StreamId first_ = 0;
  bool is_captured_ = false;
  std::vector<StreamId> used_streams_;
  std::vector<EventId> used_events_;
};

/// Builds the work of nodes, given in graph order, as one piece. Earlier nodes are done.
int build(Process& driver, GraphExecState& exec, const GraphState& graph,
          const std::vector<Node*>& order, GraphExecId& made);

/// Issues the work of nodes to streams in the order of the graph.
class Issuer {
 public:
  Issuer(Process& driver, GraphExecState& exec, const GraphState& graph)
      : driver_(driver), exec_(exec), slot_(slot_of(driver, graph)), scratch_(*slot_.streams) {
    place_.device = graph.device();
    place_.slot = &slot_;
    place_.is_of_graph = true;
  }

  int issue(const std::vector<Node*>& order, GraphExecId& made) {
    if (const int code = code_of(begin()); code != CUDA_SUCCESS) return code;
    for (Node* const node : order) {
      if (const int code = code_of(enter_stream(*node)); code != CUDA_SUCCESS) return code;
      if (const int code = work_of(*node); code != CUDA_SUCCESS) return code;
      const auto done = scratch_.event_after(place_.stream);
      if (!done) return code_of(done.error());
      done_[node] = {place_.stream, *done};
      last_[place_.stream] = node;
    }
    const auto exec = finish();
    if (!exec) return code_of(exec.error());
    made = *exec;
    return CUDA_SUCCESS;
  }

 private:
  struct Done {
    StreamId stream = 0;
    EventId event = 0;
  };

  Status begin() {
    first_ = GPUEMU_TRY(scratch_.begin());
    start_ = GPUEMU_TRY(scratch_.event_after(first_));
    return ok_status();
  }

  /// Continues the stream of a preceding node that nothing has followed yet, or a new stream. Waits
  /// for the other preceding nodes.
  Status enter_stream(const Node& node) {
    const Node* followed = nullptr;
    bool is_first = true;
    for (const Node* const before : node.after) {
      if (!done_.contains(before)) continue;  // It belongs to an earlier step.
      is_first = false;
      if (last_[done_[before].stream] == before) followed = before;
    }
    if (followed != nullptr) {
      place_.stream = done_[followed].stream;
    } else if (is_first && last_.empty()) {
      place_.stream = first_;
    } else {
      place_.stream = GPUEMU_TRY(scratch_.stream());
      GPUEMU_TRY(slot_.streams->wait_event(place_.stream, start_));
    }
    for (const Node* const before : node.after) {
      if (before == followed || !done_.contains(before)) continue;
      GPUEMU_TRY(slot_.streams->wait_event(place_.stream, done_[before].event));
    }
    return ok_status();
  }

  Result<GraphExecId> finish() {
    for (const auto& [stream, node] : last_) {
      if (stream == first_ || node == nullptr) continue;
      GPUEMU_TRY(slot_.streams->wait_event(first_, done_[node].event));
    }
    return scratch_.end();
  }

  int work_of(Node& node) {
    if (exec_.disabled.contains(&node)) return CUDA_SUCCESS;
    set_launch_site(node.site);
    const int code = std::visit([&](const auto& work) { return work_of(node, work); }, node.work);
    set_launch_site(nullptr);
    return code;
  }
  int work_of(Node& node, const KernelWork&) {
    return launch_in_graph(driver_, place_, node, exec_.tags[&node]);
  }
  int work_of(Node& node, const CopyWork& work) {
    return copy_3d(place_, work.what, {node.site->call, false});
  }
  int work_of(Node& node, const FillWork& work) {
    return fill_2d(place_, work.what, {node.site->call, false});
  }
  int work_of(Node&, const HostWork& work) {
    return code_of(slot_.streams->host_call(place_.stream, [what = work.what] {
      const CalledByStream called;
      what.function(what.data);
    }));
  }
  int work_of(Node&, const ChildWork& work) {
    GraphExecId child = 0;
    const auto order = work.graph->in_order();
    if (!order) return CUDA_ERROR_INVALID_VALUE;
    if (const int code = build(driver_, exec_, *work.graph, *order, child); code != CUDA_SUCCESS) {
      return code;
    }
    const Status added = slot_.streams->launch_graph(child, place_.stream);
    (void)code_of(slot_.streams->free_graph_exec(child));
    return code_of(added);
  }
  /// Events are waited for before the graph begins and recorded after it ends.
  int work_of(Node&, const WaitWork&) { return CUDA_SUCCESS; }
  int work_of(Node&, const RecordWork&) { return CUDA_SUCCESS; }
  int work_of(Node&, const EmptyWork&) { return CUDA_SUCCESS; }
  /// Memory is allocated before the graph begins and freed after it ends.
  int work_of(Node&, const AllocWork&) { return CUDA_SUCCESS; }
  int work_of(Node&, const FreeWork&) { return CUDA_SUCCESS; }
  /// A condition is a separate step.
  int work_of(Node&, const ConditionalWork&) { return CUDA_SUCCESS; }

  Process& driver_;
  GraphExecState& exec_;
  DeviceSlot& slot_;
  Scratch scratch_;
  Place place_;
  StreamId first_ = 0;
  EventId start_ = 0;
  std::unordered_map<const Node*, Done> done_;
  std::unordered_map<StreamId, const Node*> last_;  ///< By stream: its last node.
};

int build(Process& driver, GraphExecState& exec, const GraphState& graph,
          const std::vector<Node*>& order, GraphExecId& made) {
  return Issuer(driver, exec, graph).issue(order, made);
}

/// Splits the graph after each node that the host has to check.
int build_steps(Process& driver, GraphExecState& exec, const GraphState& graph,
                std::vector<GraphStep>& steps) {
  const auto order = graph.in_order();
  if (!order) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> piece;
  const auto end_piece = [&](const Node* node) -> int {
    GraphStep& step = steps.emplace_back();
    step.node = node;
    if (piece.empty() && node != nullptr) return CUDA_SUCCESS;
    return build(driver, exec, graph, std::exchange(piece, {}), step.work);
  };
  for (Node* const node : *order) {
    if (!is_step(*node)) {
      piece.push_back(node);
      continue;
    }
    if (const int code = end_piece(node); code != CUDA_SUCCESS) return code;
    for (const auto& inside : graphs_inside(node->work)) {
      std::vector<GraphStep> made;
      const int code = build_steps(driver, exec, *inside, made);
      steps.back().inside.push_back(std::move(made));
      if (code != CUDA_SUCCESS) return code;
    }
  }
  return piece.empty() && !steps.empty() ? static_cast<int>(CUDA_SUCCESS) : end_piece(nullptr);
}

void free_steps(Streams& streams, std::vector<GraphStep>& steps) {
  for (GraphStep& step : steps) {
    if (step.work != 0) (void)code_of(streams.free_graph_exec(step.work));
    for (auto& inside : step.inside) free_steps(streams, inside);
  }
  steps.clear();
}

}  // namespace

int make_current(Process& driver, GraphExecState& exec) {
  if (exec.is_current) return CUDA_SUCCESS;
  Streams& streams = *slot_of(driver, *exec.graph).streams;
  std::vector<GraphStep> made;
  if (const int code = build_steps(driver, exec, *exec.graph, made); code != CUDA_SUCCESS) {
    free_steps(streams, made);
    return code;
  }
  free_steps(streams, exec.steps);
  exec.steps = std::move(made);
  exec.is_current = true;
  return CUDA_SUCCESS;
}

void drop_steps(Process& driver, GraphExecState& exec) {
  free_steps(*slot_of(driver, *exec.graph).streams, exec.steps);
  exec.is_current = false;
}

}  // namespace gpuemu::libcuda
