#include "bindings/libcuda/graphs/capture.h"

#include <algorithm>
#include <set>

namespace gpuemu::libcuda {
namespace {

/// Finds the nodes behind these handles; leaves out nodes that the program has destroyed.
std::vector<Node*> nodes_of(const std::vector<GraphNode>& handles) {
  std::vector<Node*> found;
  for (const GraphNode handle : handles) {
    if (Node* const node = find_node(handle)) found.push_back(node);
  }
  return found;
}

}  // namespace

void add_node(Captured& stream, NodeWork work, std::shared_ptr<const CallSite> site) {
  const Node& node =
      stream.capture->graph->add(std::move(work), nodes_of(stream.tips), std::move(site));
  stream.tips = {node.handle};
}

void join(Captured& stream, const std::vector<GraphNode>& nodes) {
  for (const GraphNode node : nodes) {
    if (std::ranges::find(stream.tips, node) == stream.tips.end()) stream.tips.push_back(node);
  }
}

bool is_joined(const Captured& stream) {
  std::set<const Node*> reached;
  std::vector<Node*> left = nodes_of(stream.tips);
  while (!left.empty()) {
    Node* const node = left.back();
    left.pop_back();
    if (!reached.insert(node).second) continue;
    left.insert(left.end(), node->after.begin(), node->after.end());
  }
  const auto& nodes = stream.capture->graph->nodes();
  for (size_t i = stream.capture->first_node; i < nodes.size(); ++i) {
    if (!reached.contains(nodes[i].get())) return false;
  }
  return true;
}

}  // namespace gpuemu::libcuda
