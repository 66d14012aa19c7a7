// The history of one block's values: which instruction made each, from which others, and how much
// it moves with them. Walked backwards from a wrong value it says where its error comes from.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/emulator/shadow/plan.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu::emulator {

class Warp;

struct Edge {
  uint32_t node = 0;
  double slope = 0;
};

struct Node {
  const Plan* plan = nullptr;
  uint32_t operation = 0;
  uint32_t lane = 0, warp = 0, visit = 0;
  double computed = 0, exact = 0, bound = 0;
  double gap = 0;  ///< computed - exact, taken before exact was rounded.
  uint32_t edges_begin = 0, edges_end = 0;
  bool from_finite = true;  ///< All operands were, also those that no edge leads to.
};

/// Where the history's block lies.
struct HistoryPlace {
  const ptx::Module& module;
  Dim3 block, block_size;
};

class History {
 public:
  History() { nodes_.emplace_back(); }
  /// 0 when it is full.
  uint32_t add(const Node& node, const Edge* edges, size_t count);
  bool full() const { return full_; }
  const Node& node(uint32_t at) const { return nodes_[at]; }
  /// What the value of `target` comes from, into the report: slice and origin.
  void explain(uint32_t target, const HistoryPlace& place, ShadowReport& report) const;

 private:
  class Walk;

  std::vector<Node> nodes_;  ///< The first is none.
  std::vector<Edge> edges_;
  bool full_ = false;
};

/// What kind of loss the operation is, seen from its operands (computed and exact values).
ShadowStep::Kind kind_of_loss(const Operation& operation, const ShadowValue& result,
                              const std::vector<ShadowValue>& operands);
/// A step without values and place in the grid.
ShadowStep step_of(const ptx::Module& module, const Plan& plan, uint32_t operation);
/// How far apart they are, relative to the exact one; infinite where one of them is not finite.
double relative_gap(const ShadowValue& value);

}  // namespace gpuemu::emulator
