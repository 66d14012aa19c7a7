// A function's registers as values that are assigned once, with its dominators and loops.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

using ValueId = int32_t;
inline constexpr ValueId kUndefined = -1;  ///< Read before anything is assigned.

/// Who assigns a value: an instruction's register, or the meeting of several ways into a block.
struct Definition {
  int32_t instruction = -1;  ///< -1: a meeting.
  uint32_t reg = 0;
  uint32_t block = 0;
  std::vector<ValueId> incoming;  ///< For a meeting, in the order of Flow::before[block].
  ValueId old = kUndefined;       ///< What the register held before a guarded instruction.
};

struct Loop {
  uint32_t header = 0;
  std::vector<uint32_t> latches;  ///< Blocks that go back to the header.
  std::vector<bool> contains;     ///< Per block.
};

struct Flow {
  ptx::ControlFlow control;
  std::vector<std::vector<uint32_t>> before;  ///< Predecessors, of blocks that can be reached.
  std::vector<uint32_t> order;                ///< Reachable blocks, reverse post-order.
  std::vector<int32_t> dominator;  ///< Immediate; -1 for the entry and what is not reached.
  std::vector<Loop> loops;         ///< Outer ones first.
  bool reducible = true;           ///< Every way back leads to a block that dominates it.

  bool dominates(uint32_t a, uint32_t b) const;
  const Loop* loop_at(uint32_t header) const;
};

Flow flow_of(const ptx::Function& function);

class Ssa {
 public:
  /// REQUIRES: `function` and `flow` outlive this, flow.reducible.
  Ssa(const ptx::Function& function, const Flow& flow);

  const std::vector<Definition>& definitions() const { return definitions_; }
  /// What instruction `at` reads in register `reg`.
  ValueId read(uint32_t at, uint32_t reg) const;
  /// What instruction `at` assigns to `reg`; kUndefined when it does not.
  ValueId assigned(uint32_t at, uint32_t reg) const;
  /// The meetings at the beginning of a block, those that merge something.
  const std::vector<ValueId>& meetings(uint32_t block) const { return meetings_[block]; }
  /// The value itself, where a meeting merges nothing else.
  ValueId resolved(ValueId value) const;

 private:
  void number_instruction(uint32_t at);
  ValueId at_end(uint32_t block, uint32_t reg);
  ValueId at_begin(uint32_t block, uint32_t reg);
  void drop_trivial();

  const ptx::Function& function_;
  const Flow& flow_;
  std::vector<Definition> definitions_;
  std::vector<ValueId> same_as_;  // What a trivial meeting is; else itself.
  std::vector<std::vector<ValueId>> meetings_;
  std::vector<std::map<uint32_t, ValueId>> last_in_, begin_of_;        // Per block, by register.
  std::map<std::pair<uint32_t, uint32_t>, ValueId> reads_, assigned_;  // By instruction, register.
};

/// Registers that an instruction assigns. More than it does is harmless, fewer would not be.
std::vector<uint32_t> assigned_registers(const ptx::Instruction& instruction);
/// Registers that it reads, its guard among them.
std::vector<uint32_t> read_registers(const ptx::Instruction& instruction);

}  // namespace gpuemu::inbounds
