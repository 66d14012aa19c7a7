#include "runtime/emulator/shadow/history.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "runtime/emulator/machine/places.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {
constexpr size_t kNodesMax = 4'000'000, kEdgesMax = 12'000'000;
/// Instructions of a slice that a person can still follow.
constexpr size_t kStepsMax = 16;
/// The origin of an error has so much of it.
constexpr double kGoodPart = 0.25;

bool is_finite(const ShadowValue& value) {
  return std::isfinite(value.computed) && std::isfinite(value.exact);
}
double size_of(const ShadowValue& value) { return std::fabs(value.computed); }

bool adds(Meaning meaning) {
  return meaning == Meaning::Add || meaning == Meaning::Sub || meaning == Meaning::Fma ||
         meaning == Meaning::Matrix;
}

/// The operands of an addition: the product of an fma is one of them.
std::vector<double> addends(const Operation& operation, const std::vector<ShadowValue>& operands) {
  if (operation.meaning == Meaning::Fma && operands.size() == 3)
    return {size_of(operands[0]) * size_of(operands[1]), size_of(operands[2])};
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
/// What the walk knows of the nodes that the target comes from.
struct Reached {
  std::vector<double> weight;  ///< How much the target moves with the node.
  std::vector<bool> seen;
};
}  // namespace

void History::explain(uint32_t target, const ptx::Module& module,
                      const std::array<uint32_t, 3>& block, const std::array<uint32_t, 3>& size,
                      ShadowReport& report) const {
  Reached reached{std::vector<double>(target + 1), std::vector<bool>(target + 1)};
  reached.weight[target] = 1;
  reached.seen[target] = true;
  // Every node comes after those it was made from.
  for (uint32_t at = target; at > 0; --at) {
    if (!reached.seen[at]) continue;
    for (uint32_t i = nodes_[at].edges_begin; i < nodes_[at].edges_end; ++i) {
      reached.seen[edges_[i].node] = true;
      const double moved = reached.weight[at] * edges_[i].slope;
      if (std::isfinite(moved)) reached.weight[edges_[i].node] += moved;
    }
  }
  const auto value_at = [&](uint32_t at) {
    const Node& node = nodes_[at];
    return ShadowValue{"", node.computed, node.exact, node.bound};
  };
  const auto make_step = [&](uint32_t at) {
    const Node& node = nodes_[at];
    ShadowStep step = step_of(module, *node.plan, node.operation);
    const Operation& does = node.plan->operations[node.operation];
    const ptx::Instruction& in = node.plan->code->source->body[node.operation];
    step.block = {block[0], block[1], block[2]};
    const uint32_t linear = node.warp * kLanes + node.lane;
    step.thread = {linear % size[0], linear / size[0] % size[1], linear / (size[0] * size[1])};
    step.visit = node.visit;
    step.result = value_at(at);
    if (!in.operands.empty()) step.result.name = ptx::text(in.operands[0]);
    if (does.meaning == Meaning::Load) step.kind = ShadowStep::Kind::Load;
    for (uint32_t i = node.edges_begin; i < node.edges_end && step.operands.size() < 3; ++i)
      step.operands.push_back(value_at(edges_[i].node));
    return step;
  };
  // The origin: the first value whose gap, carried on to the target, is a good part of the
  // target's.
  const double whole = std::fabs(nodes_[target].gap);
  const double rest = relative_gap(value_at(target));
  const bool finite = std::isfinite(nodes_[target].computed) && std::isfinite(nodes_[target].exact);
  for (uint32_t at = 1; at <= target; ++at) {
    if (!reached.seen[at]) continue;
    const ShadowValue value = value_at(at);
    const bool here = finite
                          ? whole > 0 && relative_gap(value) >= kGoodPart * rest &&
                                std::fabs(nodes_[at].gap * reached.weight[at]) >= kGoodPart * whole
                          : !std::isfinite(value.computed);
    if (!here) continue;
    report.origin = make_step(at);
    ShadowStep& origin = *report.origin;
    double before = 0;
    for (const ShadowValue& operand : origin.operands)
      before = std::max(before, relative_gap(operand));
    const Operation& does = nodes_[at].plan->operations[nodes_[at].operation];
    origin.kind = kind_of_loss(does, origin.result, origin.operands);
    if (origin.kind == ShadowStep::Kind::Amplifies && before > relative_gap(origin.result) / 16)
      origin.kind = ShadowStep::Kind::Grows;
    break;
  }
  // One step per instruction, the latest first; the value that matters most stands for the others.
  struct Group {
    uint32_t best = 0, last = 0;
    double weight = -1;
    uint64_t count = 0;
  };
  std::map<std::pair<const Plan*, uint32_t>, Group> groups;
  for (uint32_t at = 1; at <= target; ++at) {
    if (!reached.seen[at]) continue;
    Group& group = groups[{nodes_[at].plan, nodes_[at].operation}];
    ++group.count;
    group.last = at;
    const double weight = std::fabs(nodes_[at].gap * reached.weight[at]);
    if (weight > group.weight || group.best == 0) group = {at, at, weight, group.count};
  }
  std::vector<Group> order;
  for (const auto& [key, group] : groups) order.push_back(group);
  std::ranges::sort(order, [](const Group& a, const Group& b) { return a.last > b.last; });
  if (order.size() > kStepsMax) {
    // The loads and what weighs most.
    std::ranges::stable_sort(order, [&](const Group& a, const Group& b) {
      const auto rank = [&](const Group& group) {
        const Node& node = nodes_[group.best];
        const bool load = node.plan->operations[node.operation].meaning == Meaning::Load;
        return load ? std::numeric_limits<double>::infinity() : group.weight;
      };
      return rank(a) > rank(b);
    });
    order.resize(kStepsMax);
    std::ranges::sort(order, [](const Group& a, const Group& b) { return a.last > b.last; });
  }
  for (const Group& group : order) {
    report.slice.push_back(make_step(group.best));
    report.slice.back().count = group.count;
  }
}

}  // namespace gpuemu::emulator
