#include "runtime/emulator/shadow/history.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {
constexpr size_t kNodesMax = 4'000'000, kEdgesMax = 12'000'000;
/// Longest slice that a reader can follow, in instructions.
constexpr size_t kStepsMax = 16;
/// Share of the target's error that a value must account for to count as its origin.
constexpr double kGoodPart = 0.25;
constexpr size_t kOperandsShown = 3;

bool is_finite(const ShadowValue& value) {
  return std::isfinite(value.computed) && std::isfinite(value.exact);
}
double size_of(const ShadowValue& value) { return std::fabs(value.computed); }

bool adds(Meaning meaning) {
  return meaning == Meaning::Add || meaning == Meaning::Sub || meaning == Meaning::Fma ||
         meaning == Meaning::Matrix;
}

/// Returns the operands of an addition; for an fma, the product is one of them.
std::vector<double> addends(const Operation& operation, const std::vector<ShadowValue>& operands) {
  if (operation.meaning == Meaning::Fma && operands.size() == 3) {
    return {size_of(operands[0]) * size_of(operands[1]), size_of(operands[2])};
  }
  std::vector<double> all;
  for (const ShadowValue& operand : operands) all.push_back(size_of(operand));
  return all;
}
}  // namespace

double relative_gap(const ShadowValue& value) {
  if (!is_finite(value)) {
    const bool same =
        std::isnan(value.computed) ? std::isnan(value.exact) : value.computed == value.exact;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  const double gap = std::fabs(value.computed - value.exact);
  return gap == 0 ? 0 : gap / std::fabs(value.exact);
}

ShadowStep::Kind kind_of_loss(const Operation& operation, const ShadowValue& result,
                              const std::vector<ShadowValue>& operands) {
  using Kind = ShadowStep::Kind;
  const bool finite_in = std::ranges::all_of(
      operands, [](const ShadowValue& operand) { return std::isfinite(operand.computed); });
  if (finite_in && !std::isfinite(result.computed)) return Kind::Overflows;
  if (adds(operation.meaning)) {
    const std::vector<double> sizes = addends(operation, operands);
    const double largest = sizes.empty() ? 0 : std::ranges::max(sizes);
    if (std::max(size_of(result), std::fabs(result.exact)) < largest / 16) return Kind::Cancels;
    const double smallest = sizes.empty() ? 0 : std::ranges::min(sizes);
    if (smallest > 0 && largest * unit_of(operation.to) > smallest / 16) return Kind::Absorbs;
  }
  if (operation.meaning == Meaning::Convert) return Kind::Coarse;
  return Kind::Amplifies;
}

ShadowStep step_of(const ptx::Module& module, const Plan& plan, uint32_t operation) {
  ShadowStep step;
  const ptx::Instruction& in = plan.code->source->body[operation];
  const SourcePlace place = source_place(module, in);
  step.instruction = in.text();
  step.file = place.file;
  step.line = place.line;
  step.ptx_line = in.where.line;
  return step;
}

uint32_t History::add(const Node& node, const Edge* edges, size_t count) {
  full_ = full_ || nodes_.size() >= kNodesMax || edges_.size() + count > kEdgesMax;
  if (full_) return 0;
  Node& made = nodes_.emplace_back(node);
  made.edges_begin = static_cast<uint32_t>(edges_.size());
  edges_.insert(edges_.end(), edges, edges + count);
  made.edges_end = static_cast<uint32_t>(edges_.size());
  return static_cast<uint32_t>(nodes_.size() - 1);
}

namespace {

/// The values computed by one instruction.
struct Group {
  uint32_t best = 0, last = 0;  ///< Nodes: the one with the largest weighted error, and the latest.
  double weight = -1;
  uint64_t count = 0;
};
}  // namespace

/// Walks from one node back to everything that it depends on.
class History::Walk {
 public:
  Walk(const History& history, uint32_t target, const HistoryPlace& place)
      : nodes_(history.nodes_), place_(place), weight_(target + 1), seen_(target + 1) {
    weight_[target] = 1;
    seen_[target] = true;
    // A node comes after the nodes that it depends on.
    for (uint32_t at = target; at > 0; --at) {
      if (!seen_[at]) continue;
      edges_of(history, at, [&](const Edge& edge) {
        seen_[edge.node] = true;
        const double moved = weight_[at] * edge.slope;
        if (std::isfinite(moved)) weight_[edge.node] += moved;
      });
    }
  }

  /// Returns the first value whose error, propagated to the target, is a good part of the target's.
  /// If the target is not finite, returns the first value that became so from finite operands or
  /// came from memory; else the first value, which is a non-finite constant.
  std::optional<ShadowStep> origin(const History& history) const {
    const auto target = static_cast<uint32_t>(seen_.size() - 1);
    std::optional<uint32_t> of_constants;
    const double whole = std::fabs(nodes_[target].gap), rest = relative_gap(value_at(target));
    const bool finite =
        std::isfinite(nodes_[target].computed) && std::isfinite(nodes_[target].exact);
    for (uint32_t at = 1; at <= target; ++at) {
      if (!seen_[at]) continue;
      const bool here = finite ? whole > 0 && relative_gap(value_at(at)) >= kGoodPart * rest &&
                                     carried_gap(at) >= kGoodPart * whole
                               : !std::isfinite(nodes_[at].computed);
      if (!here) continue;
      if (finite || nodes_[at].from_finite || is_load(at)) return loss_at(history, at);
      if (!of_constants) of_constants = at;
    }
    if (!of_constants) return std::nullopt;
    return step_at(history, *of_constants);
  }

  /// Returns one step per instruction, the latest first. The value with the largest weight
  /// represents the instruction.
  std::vector<ShadowStep> slice(const History& history) const {
    std::vector<Group> groups = grouped();
    const auto later = [](const Group& a, const Group& b) { return a.last > b.last; };
    if (groups.size() > kStepsMax) {
      std::ranges::stable_sort(groups,
                               [&](const Group& a, const Group& b) { return rank(a) > rank(b); });
      groups.resize(kStepsMax);
    }
    std::ranges::sort(groups, later);
    std::vector<ShadowStep> steps;
    for (const Group& group : groups) {
      steps.push_back(step_at(history, group.best));
      steps.back().count = group.count;
    }
    return steps;
  }

 private:
  template <typename Visit>
  static void edges_of(const History& history, uint32_t at, const Visit& visit) {
    const Node& node = history.nodes_[at];
    for (uint32_t i = node.edges_begin; i < node.edges_end; ++i) visit(history.edges_[i]);
  }

  ShadowValue value_at(uint32_t at) const {
    return {"", nodes_[at].computed, nodes_[at].exact, nodes_[at].bound};
  }
  /// Returns the step with its kind of loss. A loaded value has lost nothing.
  ShadowStep loss_at(const History& history, uint32_t at) const {
    ShadowStep step = step_at(history, at);
    if (is_load(at) && !std::isfinite(step.result.computed)) return step;
    double before = 0;
    for (const ShadowValue& operand : step.operands) {
      before = std::max(before, relative_gap(operand));
    }
    const Operation& does = nodes_[at].plan->operations[nodes_[at].operation];
    step.kind = kind_of_loss(does, step.result, step.operands);
    if (step.kind == ShadowStep::Kind::Amplifies && before > relative_gap(step.result) / 16) {
      step.kind = ShadowStep::Kind::Grows;
    }
    return step;
  }
  double carried_gap(uint32_t at) const { return std::fabs(nodes_[at].gap * weight_[at]); }
  bool is_load(uint32_t at) const {
    return nodes_[at].plan->operations[nodes_[at].operation].meaning == Meaning::Load;
  }
  /// Ranks steps for slices that are too long: loads are kept, then those of the largest weight.
  double rank(const Group& group) const {
    return is_load(group.best) ? std::numeric_limits<double>::infinity() : group.weight;
  }

  std::vector<Group> grouped() const {
    std::map<std::pair<const Plan*, uint32_t>, Group> groups;
    for (uint32_t at = 1; at < seen_.size(); ++at) {
      if (!seen_[at]) continue;
      Group& group = groups[{nodes_[at].plan, nodes_[at].operation}];
      ++group.count;
      group.last = at;
      if (group.best != 0 && carried_gap(at) <= group.weight) continue;
      group.best = at;
      group.weight = carried_gap(at);
    }
    std::vector<Group> all;
    for (const auto& [key, group] : groups) all.push_back(group);
    return all;
  }

  ShadowStep step_at(const History& history, uint32_t at) const {
    const Node& node = nodes_[at];
    ShadowStep step = step_of(place_.module, *node.plan, node.operation);
    const ptx::Instruction& in = node.plan->code->source->body[node.operation];
    const Dim3 size = place_.block_size;
    step.block = place_.block;
    const uint32_t linear = node.warp * kLanes + node.lane;
    step.thread = {linear % size.x, linear / size.x % size.y, linear / (size.x * size.y)};
    step.visit = node.visit;
    step.result = value_at(at);
    if (!in.operands.empty()) step.result.name = ptx::text(in.operands[0]);
    if (is_load(at)) step.kind = ShadowStep::Kind::Load;
    edges_of(history, at, [&](const Edge& edge) {
      if (step.operands.size() < kOperandsShown) step.operands.push_back(value_at(edge.node));
    });
    return step;
  }

  const std::vector<Node>& nodes_;
  HistoryPlace place_;
  std::vector<double> weight_;  ///< Derivative of the target by each node.
  std::vector<bool> seen_;
};

void History::explain(uint32_t target, const HistoryPlace& place, ShadowReport& report) const {
  const Walk walk(*this, target, place);
  report.origin = walk.origin(*this);
  report.slice = walk.slice(*this);
}

}  // namespace gpuemu::emulator
