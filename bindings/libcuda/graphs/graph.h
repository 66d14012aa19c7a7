// A graph: nodes of work, and their order. It is only a description; nothing runs before the graph
// is instantiated and launched.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/libcuda/graphs/user_objects.h"
#include "bindings/libcuda/interface/graph_abi.h"
#include "runtime/device/launch_shape.h"

namespace gpuemu::libcuda {

struct CallSite;
class GraphState;
struct GraphMemory;  // memory/graph_memory.h

struct KernelWork {
  Function function = nullptr;  ///< A CUfunction or CUkernel, as the program passed it.
  Context context = nullptr;
  LaunchShape shape;
  bool is_cooperative = false;
  int priority = 0;
  std::vector<std::vector<std::byte>> arguments;  ///< One per parameter.
};
struct CopyWork {
  Copy3d what{};
  Context context = nullptr;
};
struct FillWork {
  FillNode what{};
  Context context = nullptr;
};
struct HostWork {
  HostNode what{};
};
struct ChildWork {
  std::shared_ptr<GraphState> graph;  ///< Never null. Belongs only to the node.
};
struct EmptyWork {};
struct WaitWork {
  Event event = nullptr;
};
struct RecordWork {
  Event event = nullptr;
};
struct AllocWork {
  std::shared_ptr<GraphMemory> memory;  ///< Never null.
};
struct FreeWork {
  Address address = 0;
};
struct ConditionalWork {
  uint64_t condition = 0;
  ConditionType type = ConditionType::If;
  /// Never null. They belong only to the node.
  std::vector<std::shared_ptr<GraphState>> bodies;
};
/// In the order of NodeType.
using NodeWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork,
                              WaitWork, RecordWork, AllocWork, FreeWork, ConditionalWork>;
NodeType type_of(const NodeWork& work);
/// Returns the graphs that belong to a node: that of a child, or the bodies of a condition.
std::vector<std::shared_ptr<GraphState>> graphs_inside(const NodeWork& work);

struct Node {
  GraphNode handle = nullptr;
  GraphState* graph = nullptr;
  NodeWork work;
  std::shared_ptr<const CallSite> site;  ///< The call that made the node.
  GraphNode origin = nullptr;            ///< The node that was copied; null if this is no copy.
  std::vector<Node*> after;              ///< The nodes that precede this one.
  std::vector<void*> told;               ///< The array of arguments last returned to the program.
  std::vector<Graph> told_bodies;        ///< The array of bodies returned to the program.

  NodeType type() const { return type_of(work); }
};

/// Guards all graphs of the process and everything that belongs to them. Callers of the functions
/// below hold it, unless the graph is not shared yet.
std::mutex& graphs_mutex();

class GraphState {
 public:
  explicit GraphState(int device) : device_(device) {}
  ~GraphState();
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  int device() const { return device_; }
  /// The program's objects that live as long as this graph and its copies.
  HeldObjects& held_objects() { return held_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  Node& add(NodeWork work, std::vector<Node*> after, std::shared_ptr<const CallSite> site);
  void remove(Node& node);
  /// Returns the nodes in an order in which each follows its predecessors; nothing if there is a
  /// cycle.
  std::optional<std::vector<Node*>> in_order() const;
  /// Returns the index of a node of this graph.
  size_t index_of(const Node& node) const;
  /// Copies the nodes, and the graphs of child nodes.
  std::shared_ptr<GraphState> clone() const;
  /// Returns this graph's copy of a node of the graph that it was cloned from; null if there is
  /// none.
  Node* copy_of(GraphNode origin) const;

 private:
  GraphState(int device, const HeldObjects& held) : device_(device), held_(held) {}

  int device_;
  HeldObjects held_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

/// Finds the node in any graph; null if there is none.
Node* find_node(GraphNode handle);
/// Returns true if a node of the graph, or of one inside it, satisfies the test.
template <typename Test>
bool any_node(const GraphState& graph, const Test& test) {
  for (const auto& node : graph.nodes()) {
    if (test(*node)) return true;
    for (const auto& inside : graphs_inside(node->work)) {
      if (any_node(*inside, test)) return true;
    }
  }
  return false;
}
/// Returns true if nodes allocate or free memory. Such a graph cannot be copied, and its edges
/// cannot be removed.
bool uses_memory(const GraphState& graph);

}  // namespace gpuemu::libcuda
