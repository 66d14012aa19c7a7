// Loops of a control-flow graph: headers, back edges and nesting, irreducible ones included.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/flow/cfg.h"

namespace gpuemu {

struct Loops {
  uint32_t headers = 0;            ///< Blocks that something inside their loop goes back to.
  uint32_t back_edges = 0;         ///< Edges to a block that is on the path to their own.
  uint32_t depth = 0;              ///< Depth of the innermost loop; 0 without loops.
  std::vector<uint32_t> depth_of;  ///< Per block, how many loops it is in.
};

/// One walk of the graph from its first block, in which the innermost header around each block is
/// kept and corrected (T. Wei et al., "A New Algorithm for Identifying Loops in Decompilation",
/// SAS 2007). Blocks that cannot be reached are in no loop.
Loops find_loops(const std::vector<ptx::BasicBlock>& blocks);

}  // namespace gpuemu
