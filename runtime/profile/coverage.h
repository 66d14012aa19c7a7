// The coverage of a kernel by launches: source lines, basic blocks and branch edges, including
// those that were not reached.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/profile/profile.h"

namespace gpuemu {

struct CoveredBlock {
  uint64_t id = 0;  ///< See BlockPlace.
  uint64_t threads = 0;
};

/// An edge between two blocks. If its first block has several edges, each is one way of a branch.
struct CoveredEdge {
  uint64_t id = 0;
  std::string file;  ///< File of the branch; see LineCount.
  uint32_t line = 0;
  bool is_branch = false;
  uint32_t branch = 0;   ///< Index among the branches of its line, in code order.
  uint32_t way = 0;      ///< Index among the ways of its branch.
  uint32_t to_line = 0;  ///< The line it leads to, in the same file; 0 if that is another file.
  uint64_t warps = 0, threads = 0;
};

struct LaunchCoverage {
  uint64_t warps = 0;  ///< Warps launched.
  std::vector<LineCount> lines;
  std::vector<CoveredBlock> blocks;
  std::vector<CoveredEdge> edges;
};

/// Returns the coverage of one launch of `entry`, without the functions of `others`, which are
/// unrelated entries of the same module. Without lines, edges have no source positions either.
LaunchCoverage coverage_of(const Profile& profile, const std::string& entry,
                           std::span<const std::string> others, bool with_lines = true);
/// Adds the counts of another launch.
void merge_coverage(LaunchCoverage& to, const LaunchCoverage& from);

}  // namespace gpuemu
