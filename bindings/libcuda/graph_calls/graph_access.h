// Finds graphs and nodes for the calls of graphs, and returns lists.
#pragma once

#include <algorithm>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

inline DeviceSlot& slot_of(Process& driver, const GraphState& graph) {
  return *driver.devices[static_cast<size_t>(graph.device())];
}

/// Runs the body of a driver function that takes a graph; CUDA_ERROR_INVALID_VALUE for an unknown
/// one. The body holds graphs_mutex(), here and below.
template <typename Work>
int with_graph(Graph graph, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const std::lock_guard lock(graphs_mutex());
    const auto state = driver.graphs.find(graph);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_VALUE) : work(driver, *state);
  });
}
template <typename Work>
int with_exec(GraphExec exec, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    // A launch that waits for the host function has locked the graph.
    const int refused = refuse_in_host_function(call);
    if (refused != CUDA_SUCCESS) return refused;
    const auto state = driver.graph_execs.find(exec);
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard use(state->use);
    const std::lock_guard lock(graphs_mutex());
    // Another thread may have destroyed it meanwhile.
    if (driver.graph_execs.find(exec) != state) return CUDA_ERROR_INVALID_VALUE;
    return work(driver, *state);
  });
}
template <typename Work>
int with_node(GraphNode handle, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const std::lock_guard lock(graphs_mutex());
    Node* const node = find_node(handle);
    return node == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_VALUE) : work(driver, *node);
  });
}

/// Unlocks graphs_mutex(), which the thread holds, for as long as the object lives. For waits: the
/// work that a thread waits for may need a call of another thread.
class GraphsUnlocked {
 public:
  GraphsUnlocked() { graphs_mutex().unlock(); }
  ~GraphsUnlocked() { graphs_mutex().lock(); }
  GraphsUnlocked(const GraphsUnlocked&) = delete;
  GraphsUnlocked& operator=(const GraphsUnlocked&) = delete;
};

/// Finds the nodes of `graph`, each once. Returns false if a handle is not one of them.
inline bool find_nodes(const GraphState& graph, const GraphNode* handles, size_t count,
                       std::vector<Node*>& found) {
  if (count != 0 && handles == nullptr) return false;
  for (size_t i = 0; i < count; ++i) {
    Node* const node = find_node(handles[i]);
    if (node == nullptr || node->graph != &graph || std::ranges::find(found, node) != found.end()) {
      return false;
    }
    found.push_back(node);
  }
  return true;
}

/// Returns a list as cuGraphGetNodes does: only its length without an array, otherwise as much of
/// it as fits, filled up with null.
template <typename Item>
int tell(const std::vector<Item>& list, Item* array, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (array == nullptr) {
    *count = list.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i) array[i] = i < list.size() ? list[i] : Item{};
  *count = std::min(*count, list.size());
  return CUDA_SUCCESS;
}

/// Returns true if the edges are plain: the next node begins when the previous one is done.
inline bool are_plain(const EdgeData* edges, size_t count) {
  for (size_t i = 0; edges != nullptr && i < count; ++i) {
    if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0) return false;
  }
  return true;
}
inline void tell_plain(EdgeData* edges, const size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, EdgeData{});
}

}  // namespace gpuemu::libcuda
