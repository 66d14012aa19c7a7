#include "bindings/libcuda/graphs/graph.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "bindings/libcuda/interface/table.h"

namespace gpuemu::libcuda {
namespace {

/// All nodes by handle. It has a separate mutex, because instantiated graphs are destroyed without
/// graphs_mutex().
struct Register {
  std::mutex mutex;
  std::unordered_map<GraphNode, Node*> nodes;
};
Register& all_nodes() {
  static auto* const kAll = new Register;
  return *kAll;
}

void forget(const Node& node) {
  const std::lock_guard lock(all_nodes().mutex);
  all_nodes().nodes.erase(node.handle);
}

}  // namespace

NodeType type_of(const NodeWork& work) {
  constexpr std::array kTypes = {NodeType::Launch,    NodeType::Copy,        NodeType::Fill,
                                 NodeType::Host,      NodeType::Child,       NodeType::Empty,
                                 NodeType::WaitEvent, NodeType::RecordEvent, NodeType::Alloc,
                                 NodeType::Free,      NodeType::Conditional};
  static_assert(std::variant_size_v<NodeWork> == kTypes.size());
  return kTypes[work.index()];
}

std::vector<std::shared_ptr<GraphState>> graphs_inside(const NodeWork& work) {
  if (const auto* const child = std::get_if<ChildWork>(&work)) return {child->graph};
  if (const auto* const choice = std::get_if<ConditionalWork>(&work)) return choice->bodies;
  return {};
}

bool uses_memory(const GraphState& graph) {
  return any_node(graph, [](const Node& node) {
    return node.type() == NodeType::Alloc || node.type() == NodeType::Free;
  });
}

std::mutex& graphs_mutex() {
  static auto* const kMutex = new std::mutex;
  return *kMutex;
}

Node* find_node(GraphNode handle) {
  const std::lock_guard lock(all_nodes().mutex);
  const auto found = all_nodes().nodes.find(handle);
  return found == all_nodes().nodes.end() ? nullptr : found->second;
}

GraphState::~GraphState() {
  for (const auto& node : nodes_) forget(*node);
}

Node& GraphState::add(NodeWork work, std::vector<Node*> after,
                      std::shared_ptr<const CallSite> site) {
  auto made = std::make_unique<Node>();
  made->handle = reinterpret_cast<GraphNode>(next_handle());
  made->graph = this;
  made->work = std::move(work);
  made->after = std::move(after);
  made->site = std::move(site);
  nodes_.push_back(std::move(made));
  Node& node = *nodes_.back();
  const std::lock_guard lock(all_nodes().mutex);
  all_nodes().nodes[node.handle] = &node;
  return node;
}

void GraphState::remove(Node& node) {
  forget(node);
  for (const auto& other : nodes_) std::erase(other->after, &node);
  std::erase_if(nodes_, [&](const auto& one) { return one.get() == &node; });
}

size_t GraphState::index_of(const Node& node) const {
  const auto found = std::ranges::find(nodes_, &node, [](const auto& one) { return one.get(); });
  return static_cast<size_t>(found - nodes_.begin());
}

std::optional<std::vector<Node*>> GraphState::in_order() const {
  std::unordered_map<const Node*, size_t> missing;
  std::unordered_map<const Node*, std::vector<Node*>> followers;
  std::vector<Node*> order;
  for (const auto& node : nodes_) {
    missing[node.get()] = node->after.size();
    for (const Node* const before : node->after) followers[before].push_back(node.get());
    if (node->after.empty()) order.push_back(node.get());
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (Node* const next : followers[order[i]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  if (order.size() != nodes_.size()) return std::nullopt;
  return order;
}

std::shared_ptr<GraphState> GraphState::clone() const {
  const std::shared_ptr<GraphState> made(new GraphState(device_, held_));
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : nodes_) {
    NodeWork work = node->work;
    if (auto* const child = std::get_if<ChildWork>(&work)) child->graph = child->graph->clone();
    if (auto* const choice = std::get_if<ConditionalWork>(&work)) {
      for (auto& body : choice->bodies) body = body->clone();
    }
    Node& copy = made->add(std::move(work), {}, node->site);
    copy.origin = node->handle;
    copies[node.get()] = &copy;
  }
  for (const auto& node : nodes_) {
    for (const Node* const before : node->after) {
      copies[node.get()]->after.push_back(copies[before]);
    }
  }
  return made;
}

Node* GraphState::copy_of(GraphNode origin) const {
  const auto found = std::ranges::find(nodes_, origin, [](const auto& one) { return one->origin; });
  return found == nodes_.end() ? nullptr : found->get();
}

}  // namespace gpuemu::libcuda
