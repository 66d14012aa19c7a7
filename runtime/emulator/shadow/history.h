// The history of one block's values: the instruction that computed each, its operands, and its
// derivatives by them. Walked backwards from a wrong value, it shows where the error comes from.
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
  double gap = 0;  ///< computed - exact, before `exact` was rounded to a double.
  uint32_t edges_begin = 0, edges_end = 0;
  bool from_finite = true;  ///< All operands were finite, also those without an edge.
};

/// Position of the history's block.
struct HistoryPlace {
  const ptx::Module& module;
  Dim3 block, block_size;
};

class History {
 public:
  History() { nodes_.emplace_back(); }
  /// Adds a node and returns its index; 0 if the history is full.
  uint32_t add(const Node& node, const Edge* edges, size_t count);
  bool full() const { return full_; }
  const Node& node(uint32_t at) const { return nodes_[at]; }
  /// Adds to the report what the value of `target` depends on: slice and origin.
  void explain(uint32_t target, const HistoryPlace& place, ShadowReport& report) const;

 private:
  class Walk;

  std::vector<Node> nodes_;  ///< The first is a sentinel.
  std::vector<Edge> edges_;
  bool full_ = false;
};

/// Classifies the loss of an operation from its computed and exact operands.
ShadowStep::Kind kind_of_loss(const Operation& operation, const ShadowValue& result,
                              const std::vector<ShadowValue>& operands);
/// Returns a step without values and position in the grid.
ShadowStep step_of(const ptx::Module& module, const Plan& plan, uint32_t operation);
/// Returns the error relative to the exact value; infinite if either is not finite.
double relative_gap(const ShadowValue& value);

}  // namespace gpuemu::emulator
