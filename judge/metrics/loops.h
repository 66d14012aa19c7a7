// Loops of a control-flow graph: headers, back edges and nesting, including irreducible loops.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/flow/cfg.h"

namespace gpuemu {

struct Loops {
  uint32_t headers = 0;            ///< Blocks with an edge from inside their loop.
  uint32_t back_edges = 0;         ///< Edges to a block on the path to their own.
  uint32_t depth = 0;              ///< Largest nesting depth; 0 without loops.
  std::vector<uint32_t> depth_of;  ///< Nesting depth of each block.
};

/// Walks the graph once from its first block, and maintains the innermost header around each block
/// (T. Wei et al., "A New Algorithm for Identifying Loops in Decompilation", SAS 2007). Unreachable
/// blocks are in no loop.
Loops find_loops(const std::vector<ptx::BasicBlock>& blocks);

}  // namespace gpuemu
