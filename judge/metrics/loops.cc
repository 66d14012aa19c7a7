#include "judge/metrics/loops.h"

#include <algorithm>

namespace gpuemu {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class Walk {
 public:
  explicit Walk(const std::vector<ptx::BasicBlock>& blocks)
      : blocks_(blocks), nodes_(blocks.size()) {}

  Loops run() {
    if (!blocks_.empty()) visit_all();
    loops_.depth_of.resize(blocks_.size(), 0);
    for (const Node& node : nodes_) loops_.headers += node.is_header ? 1 : 0;
    for (uint32_t block = 0; block < nodes_.size(); ++block) {
      uint32_t depth = nodes_[block].is_header ? 1 : 0;
      for (uint32_t up = nodes_[block].header; up != kNone; up = nodes_[up].header) ++depth;
      loops_.depth_of[block] = depth;
      loops_.depth = std::max(loops_.depth, depth);
    }
    return std::move(loops_);
  }

 private:
  struct Node {
    uint32_t header = kNone;  // Header of the innermost enclosing loop, excluding itself.
    uint32_t position = 0;    // Position on the path being walked, from 1; 0 if not on it.
    bool seen = false, is_header = false;
  };
  struct Step {
    uint32_t block;
    size_t next = 0;
  };

  // Depth-first search without recursion, because a kernel may have any number of blocks.
  void visit_all() {
    std::vector<Step> path;
    enter(0, path);
    while (!path.empty()) {
      Step& step = path.back();
      const auto& successors = blocks_[step.block].successors;
      if (step.next < successors.size()) {
        follow(step.block, successors[step.next++], path);
        continue;
      }
      const uint32_t done = step.block;
      nodes_[done].position = 0;
      path.pop_back();
      if (!path.empty()) put_inside(path.back().block, nodes_[done].header);
    }
  }

  void enter(uint32_t block, std::vector<Step>& path) {
    nodes_[block].seen = true;
    nodes_[block].position = static_cast<uint32_t>(path.size()) + 1;
    path.push_back({block});
  }

  void follow(uint32_t from, uint32_t to, std::vector<Step>& path) {
    if (!nodes_[to].seen) return enter(to, path);
    if (nodes_[to].position > 0) {
      ++loops_.back_edges;
      nodes_[to].is_header = true;
      return put_inside(from, to);
    }
    // A block visited before: its loop, if still on the path, contains `from` too.
    uint32_t header = nodes_[to].header;
    while (header != kNone && nodes_[header].position == 0) header = nodes_[header].header;
    put_inside(from, header);
  }

  // Adds `block` and its enclosing loops to the loop of `header`, innermost first.
  void put_inside(uint32_t block, uint32_t header) {
    if (block == header || header == kNone) return;
    uint32_t inner = block, outer = header;
    while (nodes_[inner].header != kNone) {
      const uint32_t around = nodes_[inner].header;
      if (around == outer) return;
      if (nodes_[around].position < nodes_[outer].position) {
        nodes_[inner].header = outer;
        inner = outer;
        outer = around;
      } else {
        inner = around;
      }
    }
    if (inner != outer) nodes_[inner].header = outer;
  }

  const std::vector<ptx::BasicBlock>& blocks_;
  std::vector<Node> nodes_;
  Loops loops_;
};

}  // namespace

Loops find_loops(const std::vector<ptx::BasicBlock>& blocks) { return Walk(blocks).run(); }

}  // namespace gpuemu
