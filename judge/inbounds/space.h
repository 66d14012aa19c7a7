// All launches of one kernel entry that are looked at together: what its parameters, its grid and
// its memory are, in terms of sizes that vary.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "judge/inbounds/atoms.h"
#include "judge/inbounds/prover.h"
#include "runtime/ptx/module.h"

namespace gpuemu::prove {

/// Memory that one allocation or variable is.
struct Region {
  std::string name;
  ptx::Space space = ptx::Space::Global;
  Poly bytes;  ///< Broken: not known.
};

struct LaunchSpace {
  Atoms atoms;
  Known known;                      ///< Of every thread of every launch.
  std::array<Poly, 3> grid, block;  ///< Each at least 1 where a thread runs.
  std::array<Poly, 3> block_index, thread_index;
  Poly shared_bytes;         ///< Dynamic.
  std::vector<Poly> params;  ///< Whole numbers and addresses, as the host passes them.
  std::vector<Region> regions;
  bool possible = true;  ///< False: the kernel runs for none of these sizes.

  /// An address: one atom for where the region begins.
  Poly add_region(Region region);
  /// Gives block_index and thread_index their atoms. REQUIRES: grid and block.
  void add_threads();
};

}  // namespace gpuemu::prove
