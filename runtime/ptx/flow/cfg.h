// Control flow of one function: basic blocks, their successors and where diverged lanes meet again.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

struct BasicBlock {
  uint32_t begin = 0;  ///< Instructions [begin, end) of Function::body; never empty.
  uint32_t end = 0;
  std::vector<uint32_t>
      successors;      ///< Block indices, ascending, each once; empty: leaves the function.
  int32_t ipdom = -1;  ///< Immediate post-dominator (block index); -1: only the function's exit.
  int32_t meet = -1;   ///< Block where lanes that diverge after this block reconverge
                       ///< (reconvergence.h); -1: where an outer divergence reconverges.
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;  ///< In program order; block 0 is the entry.
  std::vector<uint32_t> block_of;  ///< Per instruction of the body, its block.

  /// First instruction where lanes that part at `instruction` meet again; body.size() for the exit.
  uint32_t reconvergence(uint32_t instruction) const;
};

/// Block ends are `bra`, `brx`, `ret`, `exit`, `trap` and calls of .noreturn callees do not count:
/// the text after them is reachable as far as this analysis knows. A guarded one falls through too.
/// Never fails on a module that parse() returned; blocks that cannot be reached are kept, and
/// blocks that never reach the exit (endless loops) have ipdom -1.
ControlFlow analyse(const Function& function);

}  // namespace gpuemu::ptx
