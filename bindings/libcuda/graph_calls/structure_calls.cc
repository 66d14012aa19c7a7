// Implements the calls that create graphs, and that read and change the order of nodes.
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

std::vector<GraphNode> handles_of(const std::vector<Node*>& nodes) {
  std::vector<GraphNode> handles;
  for (const Node* const node : nodes) handles.push_back(node->handle);
  return handles;
}

std::vector<Node*> dependents_of(const Node& node) {
  std::vector<Node*> found;
  for (const auto& other : node.graph->nodes()) {
    if (std::ranges::find(other->after, &node) != other->after.end()) found.push_back(other.get());
  }
  return found;
}

/// Removes the handles of the graph and of the graphs inside it.
void forget_graph(Process& driver, const GraphState& graph) {
  for (const Graph one :
       driver.graphs.which([&](const GraphState& known) { return &known == &graph; })) {
    driver.graphs.remove(one);
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& inside : graphs_inside(node->work)) forget_graph(driver, *inside);
  }
}

/// Calls `change` with the two nodes of each edge, after checking all of them.
template <typename Change>
int change_edges(Graph graph, const GraphNode* from, const GraphNode* to, const EdgeData* edges,
                 size_t count, const Change& change, const char* call = __builtin_FUNCTION()) {
  return with_graph(
      graph,
      [&](Process&, GraphState& state) -> int {
        if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
        if (!are_plain(edges, count)) return unsupported_call("cuGraph with programmatic edges");
        // According to the header, such a graph keeps its edges.
        if (!change.adds && uses_memory(state)) return CUDA_ERROR_NOT_SUPPORTED;
        std::vector<std::pair<Node*, Node*>> pairs;
        for (size_t i = 0; i < count; ++i) {
          Node *const first = find_node(from[i]), *const second = find_node(to[i]);
          if (first == nullptr || second == nullptr || first == second) {
            return CUDA_ERROR_INVALID_VALUE;
          }
          if (first->graph != &state || second->graph != &state) return CUDA_ERROR_INVALID_VALUE;
          const bool is_there = std::ranges::find(second->after, first) != second->after.end();
          if (is_there == change.adds) return CUDA_ERROR_INVALID_VALUE;
          pairs.emplace_back(first, second);
        }
        for (const auto& [first, second] : pairs) change(*first, *second);
        return CUDA_SUCCESS;
      },
      call);
}

struct AddEdge {
  static constexpr bool adds = true;
  void operator()(Node& from, Node& to) const { to.after.push_back(&from); }
};
struct RemoveEdge {
  static constexpr bool adds = false;
  void operator()(Node& from, Node& to) const { std::erase(to.after, &from); }
};

}  // namespace

GPUEMU_DRIVER_API int cuGraphCreate(Graph* graph, unsigned flags) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = driver.graphs.add(std::make_shared<GraphState>(place.device));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphDestroy(Graph graph) {
  const int code = with_graph(graph, [](Process& driver, const GraphState& state) -> int {
    forget_graph(driver, state);
    return CUDA_SUCCESS;
  });
  end_unused_objects();
  return code;
}

GPUEMU_DRIVER_API int cuGraphClone(Graph* clone, Graph graph) {
  return with_graph(graph, [&](Process& driver, const GraphState& state) -> int {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (uses_memory(state)) return CUDA_ERROR_NOT_SUPPORTED;  // According to the header.
    *clone = driver.graphs.add(state.clone());
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphNodeFindInClone(GraphNode* found, GraphNode origin, Graph clone) {
  return with_graph(clone, [&](Process&, const GraphState& state) -> int {
    const Node* const copy = origin == nullptr ? nullptr : state.copy_of(origin);
    if (found == nullptr || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *found = copy->handle;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphGetNodes(Graph graph, GraphNode* nodes, size_t* count) {
  return with_graph(graph, [&](Process&, const GraphState& state) {
    std::vector<GraphNode> all;
    for (const auto& node : state.nodes()) all.push_back(node->handle);
    return tell(all, nodes, count);
  });
}

GPUEMU_DRIVER_API int cuGraphGetRootNodes(Graph graph, GraphNode* nodes, size_t* count) {
  return with_graph(graph, [&](Process&, const GraphState& state) {
    std::vector<GraphNode> roots;
    for (const auto& node : state.nodes()) {
      if (node->after.empty()) roots.push_back(node->handle);
    }
    return tell(roots, nodes, count);
  });
}

GPUEMU_DRIVER_API int cuGraphGetEdges_v2(Graph graph, GraphNode* from, GraphNode* to,
                                         EdgeData* edges, size_t* count) {
  return with_graph(graph, [&](Process&, const GraphState& state) -> int {
    if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode> first, second;
    for (const auto& node : state.nodes()) {
      for (const Node* const before : node->after) {
        first.push_back(before->handle);
        second.push_back(node->handle);
      }
    }
    size_t asked = *count;
    (void)tell(first, from, &asked);
    const int code = tell(second, to, count);
    if (from != nullptr) tell_plain(edges, count);
    return code;
  });
}

GPUEMU_DRIVER_API int cuGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

GPUEMU_DRIVER_API int cuGraphNodeGetDependencies_v2(GraphNode node, GraphNode* nodes,
                                                    EdgeData* edges, size_t* count) {
  return with_node(node, [&](Process&, const Node& state) {
    const int code = tell(handles_of(state.after), nodes, count);
    if (nodes != nullptr) tell_plain(edges, count);
    return code;
  });
}

GPUEMU_DRIVER_API int cuGraphNodeGetDependencies(GraphNode node, GraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

GPUEMU_DRIVER_API int cuGraphNodeGetDependentNodes_v2(GraphNode node, GraphNode* nodes,
                                                      EdgeData* edges, size_t* count) {
  return with_node(node, [&](Process&, const Node& state) {
    const int code = tell(handles_of(dependents_of(state)), nodes, count);
    if (nodes != nullptr) tell_plain(edges, count);
    return code;
  });
}

GPUEMU_DRIVER_API int cuGraphNodeGetDependentNodes(GraphNode node, GraphNode* nodes,
                                                   size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

GPUEMU_DRIVER_API int cuGraphAddDependencies_v2(Graph graph, const GraphNode* from,
                                                const GraphNode* to, const EdgeData* edges,
                                                size_t count) {
  return change_edges(graph, from, to, edges, count, AddEdge{});
}

GPUEMU_DRIVER_API int cuGraphAddDependencies(Graph graph, const GraphNode* from,
                                             const GraphNode* to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

GPUEMU_DRIVER_API int cuGraphRemoveDependencies_v2(Graph graph, const GraphNode* from,
                                                   const GraphNode* to, const EdgeData* edges,
                                                   size_t count) {
  return change_edges(graph, from, to, edges, count, RemoveEdge{});
}

GPUEMU_DRIVER_API int cuGraphRemoveDependencies(Graph graph, const GraphNode* from,
                                                const GraphNode* to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

GPUEMU_DRIVER_API int cuGraphNodeGetType(GraphNode node, int* type) {
  return with_node(node, [&](Process&, const Node& state) -> int {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = static_cast<int>(state.type());
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphDestroyNode(GraphNode node) {
  return with_node(node, [](Process& driver, Node& state) -> int {
    if (uses_memory(*state.graph)) return CUDA_ERROR_NOT_SUPPORTED;  // According to the header.
    for (const auto& inside : graphs_inside(state.work)) forget_graph(driver, *inside);
    state.graph->remove(state);
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
