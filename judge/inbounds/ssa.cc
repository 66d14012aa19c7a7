#include "judge/inbounds/ssa.h"

#include <algorithm>

namespace gpuemu::inbounds {
namespace {

using ptx::Instruction;
using ptx::Operand;

void collect(const Operand& operand, std::vector<uint32_t>& registers) {
  if (operand.kind == Operand::Kind::Register) registers.push_back(operand.reg);
  for (const Operand& element : operand.elements) collect(element, registers);
}

class FlowFinder {
 public:
  explicit FlowFinder(const ptx::Function& function) { flow_.control = ptx::analyse(function); }

  Flow run() {
    find_order();
    find_dominators();
    find_loops();
    return std::move(flow_);
  }

 private:
  size_t blocks() const { return flow_.control.blocks.size(); }

  // Depth-first search without recursion.
  void find_order() {
    std::vector<bool> seen(blocks(), false);
    std::vector<std::pair<uint32_t, size_t>> stack;
    if (blocks() > 0) {
      stack.emplace_back(0, 0);
      seen[0] = true;
    }
    while (!stack.empty()) {
      const uint32_t block = stack.back().first;
      const auto& successors = flow_.control.blocks[block].successors;
      if (stack.back().second == successors.size()) {
        flow_.order.push_back(block);
        stack.pop_back();
        continue;
      }
      const uint32_t next = successors[stack.back().second++];
      if (!seen[next]) stack.emplace_back(next, 0);
      seen[next] = true;
    }
    std::ranges::reverse(flow_.order);
    flow_.before.resize(blocks());
    rank_.assign(blocks(), -1);
    for (size_t i = 0; i < flow_.order.size(); ++i) {
      rank_[flow_.order[i]] = static_cast<int32_t>(i);
      for (const uint32_t next : flow_.control.blocks[flow_.order[i]].successors) {
        flow_.before[next].push_back(flow_.order[i]);
      }
    }
  }

  // The iteration of Cooper, Harvey and Kennedy.
  void find_dominators() {
    flow_.dominator.assign(blocks(), -1);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 1; i < flow_.order.size(); ++i) {
        const uint32_t block = flow_.order[i];
        int32_t meet = -1;
        for (const uint32_t other : flow_.before[block]) {
          const bool known = other == flow_.order[0] || flow_.dominator[other] >= 0;
          if (!known) continue;
          meet = meet < 0 ? static_cast<int32_t>(other) : common(meet, static_cast<int32_t>(other));
        }
        changed = changed || flow_.dominator[block] != meet;
        flow_.dominator[block] = meet;
      }
    }
  }

  int32_t common(int32_t a, int32_t b) const {
    while (a != b) {
      int32_t& deeper = rank_[static_cast<size_t>(a)] > rank_[static_cast<size_t>(b)] ? a : b;
      deeper = flow_.dominator[static_cast<size_t>(deeper)];
    }
    return a;
  }

  void find_loops() {
    for (const uint32_t header : flow_.order) {
      Loop loop{header, {}, {}};
      for (const uint32_t block : flow_.before[header]) {
        if (rank_[block] < rank_[header]) continue;
        if (flow_.dominates(header, block)) {
          loop.latches.push_back(block);
        } else {
          flow_.reducible = false;
        }
      }
      if (loop.latches.empty()) continue;
      fill(loop);
      flow_.loops.push_back(std::move(loop));
    }
  }

  void fill(Loop& loop) const {
    loop.contains.assign(blocks(), false);
    loop.contains[loop.header] = true;
    std::vector<uint32_t> open = loop.latches;
    while (!open.empty()) {
      const uint32_t block = open.back();
      open.pop_back();
      if (loop.contains[block]) continue;
      loop.contains[block] = true;
      open.insert(open.end(), flow_.before[block].begin(), flow_.before[block].end());
    }
  }

  Flow flow_;
  std::vector<int32_t> rank_;
};

}  // namespace

bool Flow::dominates(uint32_t a, uint32_t b) const {
  for (auto at = static_cast<int32_t>(b); at >= 0; at = dominator[static_cast<size_t>(at)]) {
    if (at == static_cast<int32_t>(a)) return true;
  }
  return false;
}

const Loop* Flow::loop_at(uint32_t header) const {
  const auto found = std::ranges::find(loops, header, &Loop::header);
  return found == loops.end() ? nullptr : &*found;
}

Flow flow_of(const ptx::Function& function) { return FlowFinder(function).run(); }

std::vector<uint32_t> assigned_registers(const Instruction& instruction) {
  std::vector<uint32_t> registers;
  if (!instruction.operands.empty()) {
    const Operand& first = instruction.operands[0];
    if (first.kind != Operand::Kind::Address) collect(first, registers);
  }
  for (const Operand& result : instruction.call_results) collect(result, registers);
  return registers;
}

std::vector<uint32_t> read_registers(const Instruction& instruction) {
  std::vector<uint32_t> registers;
  for (const Operand& operand : instruction.operands) collect(operand, registers);
  for (const Operand& operand : instruction.call_arguments) collect(operand, registers);
  if (instruction.guard) collect(*instruction.guard, registers);
  return registers;
}

Ssa::Ssa(const ptx::Function& function, const Flow& flow)
    : function_(function),
      flow_(flow),
      last_in_(flow.control.blocks.size()),
      begin_of_(flow.control.blocks.size()) {
  for (const uint32_t block : flow.order) {
    const ptx::BasicBlock& range = flow.control.blocks[block];
    for (uint32_t at = range.begin; at < range.end; ++at) number_instruction(at);
  }
  for (const uint32_t block : flow.order) {
    const ptx::BasicBlock& range = flow.control.blocks[block];
    std::map<uint32_t, ValueId> now;
    for (uint32_t at = range.begin; at < range.end; ++at) {
      std::vector<uint32_t> wanted = read_registers(function.body[at]);
      for (const uint32_t reg : wanted) {
        const auto local = now.find(reg);
        const ValueId value = local == now.end() ? at_begin(block, reg) : local->second;
        reads_[{at, reg}] = value;
      }
      for (const uint32_t reg : assigned_registers(function.body[at])) {
        const ValueId value = assigned_.at({at, reg});
        definitions_[static_cast<size_t>(value)].old = reads_.at({at, reg});
        now[reg] = value;
      }
    }
  }
  drop_trivial();
}

void Ssa::number_instruction(uint32_t at) {
  const uint32_t block = flow_.control.block_of[at];
  for (const uint32_t reg : assigned_registers(function_.body[at])) {
    const auto value = static_cast<ValueId>(definitions_.size());
    definitions_.push_back({static_cast<int32_t>(at), reg, block, {}, kUndefined});
    assigned_[{at, reg}] = value;
    last_in_[block][reg] = value;
  }
}

ValueId Ssa::at_end(uint32_t block, uint32_t reg) {
  const auto found = last_in_[block].find(reg);
  return found == last_in_[block].end() ? at_begin(block, reg) : found->second;
}

// Follows the graph backward to the assignments. Uses a work list, because recursion would be too
// deep for long kernels.
ValueId Ssa::at_begin(uint32_t block, uint32_t reg) {
  const auto known = begin_of_[block].find(reg);
  if (known != begin_of_[block].end()) return known->second;
  std::vector<ValueId> open;
  // Blocks with one predecessor share the values at its end.
  const auto enter = [&](uint32_t at) {
    std::vector<uint32_t> chain;
    ValueId value = kUndefined;
    for (;;) {
      const auto found = begin_of_[at].find(reg);
      if (found != begin_of_[at].end()) {
        value = found->second;
        break;
      }
      chain.push_back(at);
      const bool is_entry = at == flow_.order[0];
      if (is_entry && flow_.before[at].empty()) break;
      if (flow_.before[at].size() != 1 || is_entry) {
        value = static_cast<ValueId>(definitions_.size());
        definitions_.push_back({-1, reg, at, {}, kUndefined});
        open.push_back(value);
        break;
      }
      at = flow_.before[at][0];
      const auto last = last_in_[at].find(reg);
      if (last != last_in_[at].end()) {
        value = last->second;
        break;
      }
    }
    for (const uint32_t one : chain) begin_of_[one][reg] = value;
    return value;
  };
  const ValueId wanted = enter(block);
  while (!open.empty()) {
    const ValueId meeting = open.back();
    open.pop_back();
    const uint32_t at = definitions_[static_cast<size_t>(meeting)].block;
    std::vector<ValueId> incoming;
    for (const uint32_t other : flow_.before[at]) {
      const auto last = last_in_[other].find(reg);
      incoming.push_back(last == last_in_[other].end() ? enter(other) : last->second);
    }
    // The entry may be a loop header; then its registers may also be undefined.
    if (at == flow_.order[0]) incoming.push_back(kUndefined);
    definitions_[static_cast<size_t>(meeting)].incoming = std::move(incoming);
  }
  return wanted;
}

void Ssa::drop_trivial() {
  same_as_.resize(definitions_.size());
  for (size_t i = 0; i < same_as_.size(); ++i) same_as_[i] = static_cast<ValueId>(i);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < definitions_.size(); ++i) {
      const auto self = static_cast<ValueId>(i);
      if (definitions_[i].instruction >= 0 || same_as_[i] != self) continue;
      std::optional<ValueId> only;
      bool several = false;
      for (const ValueId one : definitions_[i].incoming) {
        const ValueId value = resolved(one);
        if (value == self) continue;
        several = several || (only && *only != value);
        only = value;
      }
      if (several || !only) continue;
      same_as_[i] = *only;
      changed = true;
    }
  }
  meetings_.resize(flow_.control.blocks.size());
  for (size_t i = 0; i < definitions_.size(); ++i) {
    const auto self = static_cast<ValueId>(i);
    const bool merges = definitions_[i].instruction < 0 && same_as_[i] == self;
    if (merges) meetings_[definitions_[i].block].push_back(self);
  }
}

ValueId Ssa::resolved(ValueId value) const {
  while (value >= 0 && same_as_[static_cast<size_t>(value)] != value) {
    value = same_as_[static_cast<size_t>(value)];
  }
  return value;
}

ValueId Ssa::read(uint32_t at, uint32_t reg) const {
  const auto found = reads_.find({at, reg});
  return found == reads_.end() ? kUndefined : resolved(found->second);
}

ValueId Ssa::assigned(uint32_t at, uint32_t reg) const {
  const auto found = assigned_.find({at, reg});
  return found == assigned_.end() ? kUndefined : found->second;
}

}  // namespace gpuemu::inbounds
