// The control flow of one function: basic blocks, successors, and where diverged lanes reconverge.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

struct BasicBlock {
  uint32_t begin = 0;  ///< Instructions [begin, end) of Function::body; never empty.
  uint32_t end = 0;
  std::vector<uint32_t>
      successors;      ///< Ascending, unique block indices; empty: leaves the function.
  int32_t ipdom = -1;  ///< Immediate post-dominator (block index); -1: only the function's exit.
  int32_t meet = -1;   ///< Block where lanes that diverge after this block reconverge
                       ///< (reconvergence.h); -1: where an outer divergence reconverges.
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;  ///< In program order; block 0 is the entry.
  std::vector<uint32_t> block_of;  ///< Per instruction of the body, its block.

  /// Returns the first instruction at which lanes that diverge at `instruction` reconverge;
  /// body.size() for the exit.
  uint32_t reconvergence(uint32_t instruction) const;
};

/// Builds the control flow. Blocks end at `bra`, `brx`, `ret`, `exit` and `trap`; calls of
/// .noreturn functions do not end a block, so the text after them counts as reachable. A guarded
/// instruction also falls through. Never fails on a module returned by parse(). Unreachable blocks
/// are kept. Blocks that never reach the exit (endless loops) have ipdom -1.
ControlFlow analyse(const Function& function);

}  // namespace gpuemu::ptx
