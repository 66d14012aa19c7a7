// Static single assignment form of a function's registers, with dominators and loops.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

using ValueId = int32_t;
inline constexpr ValueId kUndefined = -1;  ///< Read before any assignment.

/// The definition of a value: an instruction's register, or a phi at the start of a block.
struct Definition {
  int32_t instruction = -1;  ///< -1: a phi.
  uint32_t reg = 0;
  uint32_t block = 0;
  std::vector<ValueId> incoming;  ///< For a phi, in the order of Flow::before[block].
  ValueId old = kUndefined;       ///< The register's value before a guarded instruction.
};

struct Loop {
  uint32_t header = 0;
  std::vector<uint32_t> latches;  ///< Blocks with an edge back to the header.
  std::vector<bool> contains;     ///< Per block.
};

struct Flow {
  ptx::ControlFlow control;
  std::vector<std::vector<uint32_t>> before;  ///< Predecessors of reachable blocks.
  std::vector<uint32_t> order;                ///< Reachable blocks in reverse post-order.
  std::vector<int32_t> dominator;  ///< Immediate dominator; -1 for the entry and for unreachable
                                   ///< blocks.
  std::vector<Loop> loops;         ///< Outer loops first.
  bool reducible = true;           ///< Every back edge leads to a block that dominates its source.

  bool dominates(uint32_t a, uint32_t b) const;
  const Loop* loop_at(uint32_t header) const;
};

Flow flow_of(const ptx::Function& function);

class Ssa {
 public:
  /// Requires `function` and `flow` to outlive this object, and flow.reducible.
  Ssa(const ptx::Function& function, const Flow& flow);

  const std::vector<Definition>& definitions() const { return definitions_; }
  /// Returns the value that instruction `at` reads in register `reg`.
  ValueId read(uint32_t at, uint32_t reg) const;
  /// Returns the value that instruction `at` assigns to `reg`; kUndefined if it assigns none.
  ValueId assigned(uint32_t at, uint32_t reg) const;
  /// Returns the phis at the start of a block that merge different values.
  const std::vector<ValueId>& meetings(uint32_t block) const { return meetings_[block]; }
  /// Returns the single value that a trivial phi stands for, else the value itself.
  ValueId resolved(ValueId value) const;

 private:
  void number_instruction(uint32_t at);
  ValueId at_end(uint32_t block, uint32_t reg);
  ValueId at_begin(uint32_t block, uint32_t reg);
  void drop_trivial();

  const ptx::Function& function_;
  const Flow& flow_;
  std::vector<Definition> definitions_;
  std::vector<ValueId> same_as_;  // The value that a trivial phi stands for; else itself.
  std::vector<std::vector<ValueId>> meetings_;
  std::vector<std::map<uint32_t, ValueId>> last_in_, begin_of_;  // Per block, by register.
  // By instruction and register.
  std::map<std::pair<uint32_t, uint32_t>, ValueId> reads_, assigned_;
};

/// Returns the registers that an instruction assigns, possibly too many but never too few.
std::vector<uint32_t> assigned_registers(const ptx::Instruction& instruction);
/// Returns the registers that it reads, including its guard.
std::vector<uint32_t> read_registers(const ptx::Instruction& instruction);

}  // namespace gpuemu::inbounds
