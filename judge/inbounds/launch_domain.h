// All launches of one kernel entry that are looked at together: what its parameters, its grid and
// its memory are, in terms of sizes that vary.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "judge/inbounds/prover.h"
#include "judge/inbounds/symbols.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

/// Memory that one allocation or variable is.
struct Region {
  std::string name;
  ptx::Space space = ptx::Space::Global;
  Polynomial bytes;  ///< Broken: not known.
};

struct LaunchDomain {
  Symbols symbols;
  Known known;                            ///< Holds for every thread of every launch.
  std::array<Polynomial, 3> grid, block;  ///< Each at least 1 where a thread runs.
  std::array<Polynomial, 3> block_index, thread_index;
  Polynomial shared_bytes;         ///< Dynamic.
  std::vector<Polynomial> params;  ///< Whole numbers and addresses, as the host passes them.
  std::vector<Region> regions;
  bool possible = true;  ///< False: the kernel runs for none of these sizes.

  /// An address: one symbol for where the region begins.
  Polynomial add_region(Region region);
  /// Gives block_index and thread_index their symbols. REQUIRES: grid and block.
  void add_threads();
};

}  // namespace gpuemu::inbounds
