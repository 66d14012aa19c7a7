// Implements the calls that instantiate graphs, change instances, and launch them.
#include "bindings/libcuda/graph_calls/conditions.h"
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/graph_calls/graph_races.h"
#include "bindings/libcuda/graph_calls/instantiate.h"
#include "bindings/libcuda/graph_calls/memory_nodes.h"
#include "bindings/libcuda/graph_calls/node_work.h"
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// CUgraphExecUpdateResult
enum UpdateCode { kUpdated, kUpdateError, kTopologyChanged, kTypeChanged, kParametersChanged = 5 };

/// Returns true if the graph has an instance and must have at most one, because its memory has one
/// address.
bool is_instantiated_with_memory(Process& driver, const GraphState& graph) {
  std::set<const GraphMemory*> own;
  (void)any_node(graph, [&](const Node& node) {
    if (const auto* const work = std::get_if<AllocWork>(&node.work)) own.insert(work->memory.get());
    return false;
  });
  const auto has_one = [&](const Node& node) {
    const auto* const work = std::get_if<AllocWork>(&node.work);
    return work != nullptr && own.contains(work->memory.get());
  };
  return !own.empty() &&
         !driver.graph_execs
              .which([&](const GraphExecState& exec) { return any_node(*exec.graph, has_one); })
              .empty();
}

int instantiate(GraphExec* made, Graph graph, uint64_t flags,
                const char* call = __builtin_FUNCTION()) {
  return with_graph(
      graph,
      [&](Process& driver, const GraphState& state) -> int {
        constexpr uint64_t kDeviceLaunch = 4, kAll = 15;
        if (made == nullptr || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
        if ((flags & kDeviceLaunch) != 0) {
          return unsupported_call("cuGraphInstantiate for launches by kernels");
        }
        if (is_instantiated_with_memory(driver, state)) return CUDA_ERROR_NOT_SUPPORTED;
        auto exec = std::make_shared<GraphExecState>();
        exec->graph = state.clone();
        exec->flags = flags;
        if (!exec->graph->in_order()) return CUDA_ERROR_INVALID_VALUE;
        // Its memory exists only at a launch.
        const bool waits = uses_memory(state);
        const int code = waits ? static_cast<int>(CUDA_SUCCESS) : make_current(driver, *exec);
        if (code != CUDA_SUCCESS) return code;
        *made = driver.graph_execs.add(std::move(exec));
        return CUDA_SUCCESS;
      },
      call);
}

/// Calls `make` for the work of the node's copy in an instantiated graph.
template <typename Make>
int change(GraphExec exec, GraphNode node, NodeType type, const Make& make,
           const char* call = __builtin_FUNCTION()) {
  return with_exec(
      exec,
      [&](Process& driver, GraphExecState& state) -> int {
        Node* const copy = node == nullptr ? nullptr : state.graph->copy_of(node);
        if (copy == nullptr || copy->type() != type) return CUDA_ERROR_INVALID_VALUE;
        const int code = make(driver, *state.graph, copy->work);
        if (code == CUDA_SUCCESS) state.is_current = false;
        return code;
      },
      call);
}

/// Returns whether two nodes of the same type, if they are conditional, are of the same kind.
bool choose_alike(const Node& one, const Node& other) {
  const auto* const choice = std::get_if<ConditionalWork>(&one.work);
  return choice == nullptr || choice->type == std::get<ConditionalWork>(other.work).type;
}

/// Compares the nodes of two graphs: they must have the same types in the same order. Otherwise
/// sets `result` to the first difference.
UpdateCode compare(const GraphState& old_graph, const GraphState& graph, UpdateResult& result) {
  const auto& olds = old_graph.nodes();
  const auto& news = graph.nodes();
  if (olds.size() != news.size()) return kTopologyChanged;
  for (size_t i = 0; i < olds.size(); ++i) {
    const Node &before = *olds[i], &now = *news[i];
    result.node = now.handle;
    if (before.type() != now.type()) return kTypeChanged;
    if (!choose_alike(before, now)) return kParametersChanged;
    const auto indices = [](const GraphState& of, const Node& node) {
      std::set<size_t> found;
      for (const Node* const one : node.after) found.insert(of.index_of(*one));
      return found;
    };
    if (indices(old_graph, before) != indices(graph, now)) return kTopologyChanged;
    const auto olds_inside = graphs_inside(before.work), news_inside = graphs_inside(now.work);
    if (olds_inside.size() != news_inside.size()) return kTopologyChanged;
    for (size_t k = 0; k < news_inside.size(); ++k) {
      const auto code = compare(*olds_inside[k], *news_inside[k], result);
      if (code != kUpdated) return code;
    }
  }
  result.node = nullptr;
  return kUpdated;
}

/// Copies the work of the nodes.
void take_over(const GraphState& old_graph, const GraphState& graph) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& to = *old_graph.nodes()[i];
    const Node& from = *graph.nodes()[i];
    const auto olds_inside = graphs_inside(to.work), news_inside = graphs_inside(from.work);
    for (size_t k = 0; k < news_inside.size(); ++k) take_over(*olds_inside[k], *news_inside[k]);
    if (auto* const choice = std::get_if<ConditionalWork>(&to.work)) {
      // The kernels that were taken over set the condition of their own graph.
      choice->condition = std::get<ConditionalWork>(from.work).condition;
    } else if (news_inside.empty()) {
      to.work = from.work;
    }
  }
}

template <typename Kind, typename Visit>
int each_event(Process& driver, const GraphState& graph, const Visit& visit) {
  for (const auto& node : graph.nodes()) {
    for (const auto& inside : graphs_inside(node->work)) {
      if (const int code = each_event<Kind>(driver, *inside, visit); code != CUDA_SUCCESS) {
        return code;
      }
    }
    const auto* const work = std::get_if<Kind>(&node->work);
    if (work == nullptr) continue;
    const auto event = driver.events.find(work->event);
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const int code = visit(*event); code != CUDA_SUCCESS) return code;
  }
  return CUDA_SUCCESS;
}

/// Makes the memory and the steps of a launch, or neither.
int prepare(Process& driver, const Place& place, GraphExecState& exec) {
  if (!uses_memory(*exec.graph)) return make_current(driver, exec);
  if (const int code = begin_memory(driver, place, exec); code != CUDA_SUCCESS) return code;
  const int code = make_current(driver, exec);
  if (code != CUDA_SUCCESS) take_back_memory(driver, exec);
  return code;
}

/// Lets the stream wait for the events of the graph.
int wait_for_events(Process& driver, const Place& place, const GraphExecState& exec) {
  Streams& streams = *place.slot->streams;
  return each_event<WaitWork>(driver, *exec.graph, [&](EventState& event) {
    driver.races.waits(line_of(place), event.id);
    return code_of(streams.wait_event(place.stream, event.id));
  });
}

/// Waits for the work before a graph whose conditions the host has to set and read. The graph stays
/// unlocked meanwhile: that work may be a host function that waits for another thread's call.
int wait_before_conditions(Process& driver, const Place& place, GraphExecState& exec) {
  if (!any_node(*exec.graph, is_step)) return CUDA_SUCCESS;
  graphs_mutex().unlock();
  exec.use.unlock();
  const Status done = place.slot->streams->synchronize(place.stream);
  exec.use.lock();
  graphs_mutex().lock();
  // Another thread may have destroyed it meanwhile.
  const auto known =
      driver.graph_execs.which([&](const GraphExecState& one) { return &one == &exec; });
  return known.empty() ? static_cast<int>(CUDA_ERROR_INVALID_VALUE) : code_of(done);
}

int launch_now(Process& driver, const Place& place, GraphExecState& exec) {
  if (const int code = wait_for_events(driver, place, exec); code != CUDA_SUCCESS) return code;
  const int waited = wait_before_conditions(driver, place, exec);
  if (waited != CUDA_SUCCESS) return waited;
  if (const int code = prepare(driver, place, exec); code != CUDA_SUCCESS) return code;
  const auto conditions = lock_conditions(*exec.graph);
  if (const int code = set_conditions(place, *exec.graph); code != CUDA_SUCCESS) {
    if (uses_memory(*exec.graph)) {
      take_back_memory(driver, exec);
      drop_steps(driver, exec);  // They were made for memory that is gone.
    }
    return code;
  }
  Streams& streams = *place.slot->streams;
  const bool uses_host = tell_races(driver, place, exec);
  const bool is_certain = !any_node(*exec.graph, is_step);
  for (const auto& [node, tag] : exec.tags) {
    if (exec.disabled.contains(node)) continue;
    driver.recorder.launch_repeats(tag, place.stream, is_certain);
  }
  if (const int code = run_steps(place, exec.steps); code != CUDA_SUCCESS) return code;
  if (uses_host) {
    const GraphsUnlocked unlocked;
    let_finish(driver, place);
  }
  if (uses_memory(*exec.graph)) {
    if (const int code = end_memory(driver, place, exec); code != CUDA_SUCCESS) return code;
    drop_steps(driver, exec);  // They were made for memory that is freed.
  }
  return each_event<RecordWork>(driver, *exec.graph, [&](EventState& event) {
    event.is_recorded = true;
    event.is_captured = false;
    driver.races.recorded(event.id, line_of(place));
    return code_of(streams.record(event.id, place.stream));
  });
}

/// A captured launch becomes a child node with the graph's current content.
std::shared_ptr<GraphState> as_child(const GraphExecState& exec) {
  auto made = exec.graph->clone();
  for (const Node* const off : exec.disabled) made->copy_of(off->handle)->work = EmptyWork{};
  return made;
}

}  // namespace

// NOLINTNEXTLINE(google-runtime-int): as the header has it.
GPUEMU_DRIVER_API int cuGraphInstantiateWithFlags(GraphExec* made, Graph graph,
                                                  unsigned long long flags) {
  return instantiate(made, graph, flags);
}

GPUEMU_DRIVER_API int cuGraphInstantiate(GraphExec* made, Graph graph, GraphNode* node, char* log,
                                         size_t bytes) {
  if (node != nullptr) *node = nullptr;
  if (log != nullptr && bytes != 0) *log = '\0';
  return instantiate(made, graph, 0);
}

GPUEMU_DRIVER_API int cuGraphInstantiate_v2(GraphExec* made, Graph graph, GraphNode* node,
                                            char* log, size_t bytes) {
  return cuGraphInstantiate(made, graph, node, log, bytes);
}

GPUEMU_DRIVER_API int cuGraphInstantiateWithParams(GraphExec* made, Graph graph,
                                                   InstantiateParameters* parameters) {
  if (parameters == nullptr) return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  const int code = instantiate(made, graph, parameters->flags);
  parameters->error_node = nullptr;
  parameters->result = code == CUDA_SUCCESS ? 0 : 1;
  return code;
}
GPUEMU_PER_THREAD(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz)

GPUEMU_DRIVER_API int cuGraphLaunch(GraphExec exec, Stream stream) {
  return with_place(stream, [&](Process& driver, const Place& place) -> int {
    // Before the mutexes are taken: a launch that waits for the host function holds them.
    const int refused = refuse_in_host_function("cuGraphLaunch");
    if (refused != CUDA_SUCCESS) return refused;
    if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
    std::shared_ptr<GraphState> child;
    const int code = with_exec(
        exec,
        [&](Process&, GraphExecState& state) -> int {
          if (place.device != state.graph->device()) return CUDA_ERROR_INVALID_VALUE;
          if (!is_captured(place)) return launch_now(driver, place, state);
          if (uses_memory(*state.graph)) return CUDA_ERROR_NOT_SUPPORTED;  // It cannot be copied.
          child = as_child(state);
          return CUDA_SUCCESS;
        },
        "cuGraphLaunch");
    if (child == nullptr) return code;
    return capture_work(place, ChildWork{std::move(child)}, "cuGraphLaunch");
  });
}
GPUEMU_PER_THREAD(cuGraphLaunch, cuGraphLaunch_ptsz)

/// Checks its arguments only: an emulated graph needs no upload.
GPUEMU_DRIVER_API int cuGraphUpload(GraphExec exec, Stream stream) {
  return with_exec(exec, [&](Process&, GraphExecState&) { return place_of(stream).code; });
}
GPUEMU_PER_THREAD(cuGraphUpload, cuGraphUpload_ptsz)

GPUEMU_DRIVER_API int cuGraphExecDestroy(GraphExec exec) {
  const int code = with_exec(exec, [&](Process& driver, GraphExecState& state) -> int {
    const auto kept = driver.graph_execs.remove(exec);
    for (const auto& [node, tag] : state.tags) driver.recorder.launch_dropped(tag);
    drop_steps(driver, state);
    return CUDA_SUCCESS;
  });
  end_unused_objects();
  return code;
}

GPUEMU_DRIVER_API int cuGraphExecGetFlags(GraphExec exec, uint64_t* flags) {
  return with_exec(exec, [&](Process&, const GraphExecState& state) -> int {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = state.flags;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphExecUpdate_v2(GraphExec exec, Graph graph, UpdateResult* result) {
  return with_exec(exec, [&](Process& driver, GraphExecState& state) -> int {
    const auto now = driver.graphs.find(graph);
    if (now == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *result = {};
    if (uses_memory(*now)) return CUDA_ERROR_NOT_SUPPORTED;
    result->result = compare(*state.graph, *now, *result);
    if (result->result != kUpdated) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    take_over(*state.graph, *now);
    state.is_current = false;
    const int code = make_current(driver, state);
    if (code != CUDA_SUCCESS) result->result = kUpdateError;
    return code;
  });
}

GPUEMU_DRIVER_API int cuGraphExecUpdate(GraphExec exec, Graph graph, GraphNode* node, int* result) {
  UpdateResult told{};
  const int code = cuGraphExecUpdate_v2(exec, graph, &told);
  if (node != nullptr) *node = told.node;
  if (result != nullptr) *result = told.result;
  return code;
}

GPUEMU_DRIVER_API int cuGraphNodeSetEnabled(GraphExec exec, GraphNode node, unsigned enabled) {
  return with_exec(exec, [&](Process&, GraphExecState& state) -> int {
    const Node* const copy = node == nullptr ? nullptr : state.graph->copy_of(node);
    if (copy == nullptr || copy->type() > NodeType::Fill) return CUDA_ERROR_INVALID_VALUE;
    if (enabled != 0) {
      state.disabled.erase(copy);
    } else {
      state.disabled.insert(copy);
    }
    state.is_current = false;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphNodeGetEnabled(GraphExec exec, GraphNode node, unsigned* enabled) {
  return with_exec(exec, [&](Process&, const GraphExecState& state) -> int {
    const Node* const copy = node == nullptr ? nullptr : state.graph->copy_of(node);
    if (copy == nullptr || enabled == nullptr || copy->type() > NodeType::Fill) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *enabled = state.disabled.contains(copy) ? 0 : 1;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node,
                                                     const KernelNodeFirst* what) {
  return change(exec, node, NodeType::Launch,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return kernel_work(driver, graph, what, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                                        const KernelNode* what) {
  return change(exec, node, NodeType::Launch,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return kernel_work_v2(driver, graph, what, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                                     const Copy3d* what, Context context) {
  return change(exec, node, NodeType::Copy,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return copy_work(driver, graph, what, context, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node,
                                                     const FillNode* what, Context context) {
  return change(exec, node, NodeType::Fill,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return fill_work(driver, graph, what, context, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecHostNodeSetParams(GraphExec exec, GraphNode node,
                                                   const HostNode* what) {
  return change(exec, node, NodeType::Host,
                [&](Process&, const GraphState&, NodeWork& made) { return host_work(what, made); });
}

GPUEMU_DRIVER_API int cuGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node,
                                                         Graph child) {
  return change(exec, node, NodeType::Child,
                [&](Process& driver, const GraphState& graph, NodeWork& made) -> int {
                  NodeWork work;
                  if (const int code = child_work(driver, graph, child, work);
                      code != CUDA_SUCCESS) {
                    return code;
                  }
                  UpdateResult differs{};
                  const auto& now = *std::get<ChildWork>(work).graph;
                  const auto& before = *std::get<ChildWork>(made).graph;
                  if (compare(before, now, differs) != kUpdated) return CUDA_ERROR_INVALID_VALUE;
                  take_over(before, now);
                  return CUDA_SUCCESS;
                });
}

GPUEMU_DRIVER_API int cuGraphExecEventRecordNodeSetEvent(GraphExec exec, GraphNode node,
                                                         Event event) {
  return change(exec, node, NodeType::RecordEvent,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return event_work(driver, graph, event, NodeType::RecordEvent, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecEventWaitNodeSetEvent(GraphExec exec, GraphNode node,
                                                       Event event) {
  return change(exec, node, NodeType::WaitEvent,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return event_work(driver, graph, event, NodeType::WaitEvent, made);
                });
}

GPUEMU_DRIVER_API int cuGraphExecNodeSetParams(GraphExec exec, GraphNode node,
                                               NodeParameters* what) {
  if (what == nullptr || what->type >= NodeType::Alloc) {
    return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  }
  return change(exec, node, what->type,
                [&](Process& driver, const GraphState& graph, NodeWork& made) {
                  return any_work(driver, graph, what, made);
                });
}

}  // namespace gpuemu::libcuda
