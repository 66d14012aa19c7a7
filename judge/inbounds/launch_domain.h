// All launches of a kernel entry that are analysed together: parameters, grid and memory, in terms
// of variable sizes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "judge/inbounds/prover.h"
#include "judge/inbounds/symbols.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

/// The memory of one allocation or variable.
struct Region {
  std::string name;
  ptx::Space space = ptx::Space::Global;
  Polynomial bytes;  ///< Broken: unknown.
};

struct LaunchDomain {
  Symbols symbols;
  Known known;                            ///< Holds for every thread of every launch.
  std::array<Polynomial, 3> grid, block;  ///< Each at least 1 if a thread runs.
  std::array<Polynomial, 3> block_index, thread_index;
  Polynomial shared_bytes;         ///< Dynamic shared memory.
  std::vector<Polynomial> params;  ///< Whole numbers and addresses, as the host passes them.
  std::vector<Region> regions;
  bool possible = true;  ///< False: the kernel accepts none of these sizes.

  /// Returns an address: one symbol for the beginning of the region.
  Polynomial add_region(Region region);
  /// Creates the symbols of block_index and thread_index. Requires grid and block.
  void add_threads();
};

}  // namespace gpuemu::inbounds
