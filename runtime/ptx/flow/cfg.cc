#include "runtime/ptx/flow/cfg.h"

#include <algorithm>

#include "runtime/ptx/flow/reconvergence.h"

namespace gpuemu::ptx {
namespace {

bool needs_other_lanes(const Instruction& instruction) {
  switch (info(instruction.opcode).what) {
    case OpcodeClass::Warp:
    case OpcodeClass::Barrier:
    case OpcodeClass::Matrix:
    case OpcodeClass::Unknown:
      return true;
    default:
      return instruction.opcode == Opcode::Call;
  }
}

bool ends_block(const Instruction& instruction) {
  return instruction.has(Trait::Branches) || instruction.has(Trait::Leaves);
}

class Analysis {
 public:
  explicit Analysis(const Function& function) : function_(function) {}

  ControlFlow run() {
    find_blocks();
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i) find_successors(i);
    find_post_dominators();
    find_meetings(flow_, leaving_blocks());
    return std::move(flow_);
  }

 private:
  uint32_t size() const { return static_cast<uint32_t>(function_.body.size()); }

  void find_blocks() {
    std::vector<bool> starts(size() + 1, false);
    starts[0] = true;
    for (const Label& label : function_.labels) starts[label.instruction] = true;
    for (uint32_t i = 0; i < size(); ++i) {
      if (ends_block(function_.body[i])) starts[i + 1] = true;
    }
    flow_.block_of.resize(size());
    for (uint32_t i = 0; i < size(); ++i) {
      if (starts[i]) flow_.blocks.push_back({i, i, {}, -1});
      flow_.blocks.back().end = i + 1;
      flow_.block_of[i] = static_cast<uint32_t>(flow_.blocks.size() - 1);
    }
  }

  // Returns the blocks that end the thread or the call, in which no lane needs another.
  std::vector<bool> leaving_blocks() const {
    std::vector<bool> all;
    for (const BasicBlock& block : flow_.blocks) {
      const Instruction& last = function_.body[block.end - 1];
      bool leaving = last.has(Trait::Leaves) && !last.guard;
      for (uint32_t i = block.begin; i < block.end && leaving; ++i) {
        leaving = !needs_other_lanes(function_.body[i]);
      }
      all.push_back(leaving);
    }
    return all;
  }

  // A label after the last instruction stands for the exit.
  void add_successor(BasicBlock& block, uint32_t instruction) {
    if (instruction < size()) {
      block.successors.push_back(flow_.block_of[instruction]);
    } else {
      exits_.push_back(static_cast<uint32_t>(&block - flow_.blocks.data()));
    }
  }

  void add_targets(BasicBlock& block, const Instruction& last) {
    for (const Operand& operand : last.operands) {
      if (operand.kind == Operand::Kind::Label) {
        add_successor(block, function_.labels[operand.label].instruction);
      }
      const auto table = function_.branch_targets.find(operand.name);
      if (operand.kind != Operand::Kind::Variable || table == function_.branch_targets.end()) {
        continue;
      }
      for (const std::string& target : table->second) {
        const auto label = std::ranges::find(function_.labels, target, &Label::name);
        if (label != function_.labels.end()) add_successor(block, label->instruction);
      }
    }
  }

  void find_successors(uint32_t index) {
    BasicBlock& block = flow_.blocks[index];
    const Instruction& last = function_.body[block.end - 1];
    if (last.has(Trait::Leaves)) exits_.push_back(index);
    if (!last.has(Trait::Leaves) && ends_block(last)) add_targets(block, last);
    if (!ends_block(last) || last.guard) add_successor(block, block.end);
    std::ranges::sort(block.successors);
    const auto rest = std::ranges::unique(block.successors);
    block.successors.erase(rest.begin(), rest.end());
  }

  // Computes the post-order of the reversed graph from the exit (number `exit`), without recursion.
  std::vector<uint32_t> reverse_post_order(const std::vector<std::vector<uint32_t>>& before) const {
    const auto exit = static_cast<uint32_t>(flow_.blocks.size());
    std::vector<bool> seen(exit + 1, false);
    std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
    std::vector<uint32_t> order;
    seen[exit] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next == before[block].size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const uint32_t other = before[block][next++];
      if (!seen[other]) stack.emplace_back(other, 0);
      seen[other] = true;
    }
    std::ranges::reverse(order);
    return order;
  }

  // The iteration of Cooper, Harvey and Kennedy on the reversed graph.
  void find_post_dominators() {
    const auto exit = static_cast<uint32_t>(flow_.blocks.size());
    std::vector<std::vector<uint32_t>> before(exit + 1);
    std::vector<std::vector<uint32_t>> after(exit + 1);
    for (uint32_t i = 0; i < exit; ++i) after[i] = flow_.blocks[i].successors;
    for (const uint32_t block : exits_) after[block].push_back(exit);
    for (uint32_t i = 0; i < exit; ++i) {
      for (const uint32_t other : after[i]) before[other].push_back(i);
    }
    const std::vector<uint32_t> order = reverse_post_order(before);
    std::vector<uint32_t> rank(exit + 1, kNone);
    for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::vector<uint32_t> idom(exit + 1, kNone);
    idom[exit] = exit;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 1; i < order.size(); ++i) {
        const uint32_t meet = meeting_point(after[order[i]], idom, rank);
        changed = changed || idom[order[i]] != meet;
        idom[order[i]] = meet;
      }
    }
    for (uint32_t i = 0; i < exit; ++i) {
      const bool inside = idom[i] != kNone && idom[i] != exit;
      flow_.blocks[i].ipdom = inside ? static_cast<int32_t>(idom[i]) : -1;
    }
  }

  static uint32_t meeting_point(const std::vector<uint32_t>& after,
                                const std::vector<uint32_t>& idom,
                                const std::vector<uint32_t>& rank) {
    uint32_t meet = kNone;
    for (uint32_t other : after) {
      if (idom[other] == kNone) continue;
      if (meet == kNone) meet = other;
      while (other != meet) {
        if (rank[other] > rank[meet]) {
          other = idom[other];
        } else {
          meet = idom[meet];
        }
      }
    }
    return meet;
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  const Function& function_;
  ControlFlow flow_;
  std::vector<uint32_t> exits_;
};

}  // namespace

uint32_t ControlFlow::reconvergence(uint32_t instruction) const {
  const int32_t meet = blocks[block_of[instruction]].meet;
  return meet < 0 ? static_cast<uint32_t>(block_of.size())
                  : blocks[static_cast<size_t>(meet)].begin;
}

ControlFlow analyse(const Function& function) { return Analysis(function).run(); }

}  // namespace gpuemu::ptx
