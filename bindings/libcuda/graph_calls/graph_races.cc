#include "bindings/libcuda/graph_calls/graph_races.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/libcuda/calls/launches.h"
#include "bindings/libcuda/memory_calls/copies.h"
#include "bindings/libcuda/modules.h"

namespace gpuemu::libcuda {
namespace {

/// Lists the work of a graph and of the graphs inside it.
class Pieces {
 public:
  Pieces(Process& driver, const GraphExecState& exec) : driver_(driver), exec_(exec) {
    place_.device = exec.graph->device();
    place_.slot = driver.device(place_.device);
    place_.is_of_graph = true;
  }

  /// Adds a graph after the pieces `first`. Returns its last pieces, which no other piece of it
  /// follows.
  std::vector<size_t> add(const GraphState& graph, const std::vector<size_t>& first) {
    const auto order = graph.in_order();
    std::unordered_map<const Node*, std::vector<size_t>> ends;
    std::vector<size_t> last = first;
    for (const Node* const node : order ? *order : std::vector<Node*>{}) {
      std::vector<size_t> after = node->after.empty() ? first : std::vector<size_t>{};
      for (const Node* const one : node->after) {
        after.insert(after.end(), ends[one].begin(), ends[one].end());
      }
      std::erase_if(last, [&](size_t one) { return std::ranges::find(after, one) != after.end(); });
      ends[node] = add(*node, std::move(after));
      last.insert(last.end(), ends[node].begin(), ends[node].end());
    }
    return last;
  }

  /// Returns true if two pieces are unordered.
  bool has_branches() const {
    for (size_t i = 1; i < made_.size(); ++i) {
      if (std::ranges::find(made_[i].after, i - 1) == made_[i].after.end()) return true;
    }
    return false;
  }
  bool uses_host() const { return uses_host_ && !may_wait_; }
  const std::vector<GraphPiece>& list() const { return made_; }
  void follow_kernels(bool all) {
    for (GraphPiece& one : made_) one.is_followed = one.tag != 0 && (all || one.is_followed);
  }

 private:
  std::vector<size_t> add(const Node& node, std::vector<size_t> after) {
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
      return add(*child->graph, after);
    }
    GraphPiece piece;
    piece.after = std::move(after);
    piece.site = node.site;
    if (!exec_.disabled.contains(&node)) describe(node, piece);
    made_.push_back(std::move(piece));
    return {made_.size() - 1};
  }

  void describe(const Node& node, GraphPiece& piece) {
    Transfer transfer{node.site->call, false, false, &piece.ranges};
    if (const auto* const kernel = std::get_if<KernelWork>(&node.work)) {
      const auto tag = exec_.tags.find(&node);
      const Resolved found = resolve(driver_, kernel->function);
      if (tag == exec_.tags.end() || found.code != CUDA_SUCCESS) return;
      piece.tag = tag->second;
      piece.entry = found.function->info.name;
      piece.is_followed = driver_.races.follows_host() && may_use_host(driver_, *kernel);
      uses_host_ = uses_host_ || piece.is_followed;
      may_wait_ = may_wait_ || found.function->info.may_wait_for_host;
    } else if (const auto* const copied = std::get_if<CopyWork>(&node.work)) {
      (void)copy_3d(place_, copied->what, transfer);
    } else if (const auto* const filled = std::get_if<FillWork>(&node.work)) {
      (void)fill_2d(place_, filled->what, transfer);
    }
    uses_host_ = uses_host_ || is_shared(piece.ranges);
  }

  bool is_shared(const std::vector<TouchedRange>& ranges) const {
    return driver_.races.follows_host() &&
           std::ranges::any_of(ranges, [&](const TouchedRange& one) {
             const auto in = driver_.allocations.holding(one.address);
             return in != nullptr && is_host(in->kind);
           });
  }

  Process& driver_;
  const GraphExecState& exec_;
  Place place_;
  std::vector<GraphPiece> made_;
  bool uses_host_ = false, may_wait_ = false;
};

/// Returns true if each node follows the one before it.
bool is_chain(const GraphState& graph) {
  std::unordered_set<const Node*> followed;
  size_t roots = 0;
  return std::ranges::all_of(graph.nodes(), [&](const auto& node) {
    const auto* const child = std::get_if<ChildWork>(&node->work);
    if (child != nullptr && !is_chain(*child->graph)) return false;
    if (node->after.empty()) return ++roots == 1;
    return node->after.size() == 1 && followed.insert(node->after.front()).second;
  });
}

}  // namespace

bool tell_races(Process& driver, const Place& place, const GraphExecState& exec) {
  if (!driver.settings.streams || (!driver.races.is_on() && is_chain(*exec.graph))) return false;
  Pieces pieces(driver, exec);
  pieces.add(*exec.graph, {});
  if (pieces.has_branches()) driver.races.graph_branches();
  if (!driver.races.is_on()) return false;
  pieces.follow_kernels(driver.races.compares_streams());
  driver.races.graph_launched(line_of(place), pieces.list());
  return pieces.uses_host();
}

}  // namespace gpuemu::libcuda
